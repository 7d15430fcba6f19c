const MAX_MATCH_LENGTH = 2048;

/**
 * What is wrong with a route's path, or null. It must already be canonical, because the edge refuses requests whose path
 * is not: such a route could never match.
 */
export function matchProblem(match: string): string | null {
  if (!match.startsWith('/')) return 'must start with "/"';
  if (match.length > MAX_MATCH_LENGTH) return `must have at most ${MAX_MATCH_LENGTH} characters`;
  if (/[?#]/.test(match)) return 'is a path only: it must not contain "?" or "#"';
  if (/[^\x21-\x7e]/.test(match)) return 'must be visible ASCII: percent-encode other characters';
  if (match.includes('\\') || /%5c/i.test(match)) return 'must not contain a backslash, encoded or not';
  if (match.includes('//')) return 'must not contain "//"';
  if (/%(?![0-9a-f]{2})/i.test(match)) return 'has a "%" that is not followed by two hexadecimal digits';
  if (/%00/.test(match)) return 'must not contain an encoded NUL';
  const segments = match.replaceAll(/%2e/gi, '.').split('/');
  if (segments.some((segment) => segment === '.' || segment === '..'))
    return 'must not contain "." or ".." segments, encoded or not';
  return null;
}
