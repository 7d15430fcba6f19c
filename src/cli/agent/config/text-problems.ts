const MAX_METADATA = 4096;
const MAX_TOKEN = 256;

/** Each returns the problem with a text, phrased to follow its name, or null. */
export function tokenProblem(text: string): string | null {
  return text.length <= MAX_TOKEN && /^[\x21-\x7e]+$/.test(text)
    ? null
    : `must be 1 to ${MAX_TOKEN} visible ASCII characters on one line`;
}

export function metadataProblem(text: string): string | null {
  return text.length <= MAX_METADATA ? null : `must have at most ${MAX_METADATA} characters`;
}

export function nameProblem(text: string): string | null {
  return /^[\p{L}\p{N}][\p{L}\p{N} ._-]{0,63}$/u.test(text)
    ? null
    : 'must be 1 to 64 letters, digits, spaces, dots, hyphens and underscores, and start with a letter or digit';
}
