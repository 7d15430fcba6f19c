const MAX_ITEM = 255;

/** Each returns the problem with one item of a list of people, phrased to follow its name, or null. */
export function groupProblem(text: string): string | null {
  return text.length > 0 && text.length <= MAX_ITEM && text.trim() === text && !/[\p{Cc}\p{Cf}]/u.test(text)
    ? null
    : `must be a group of 1 to ${MAX_ITEM} characters`;
}

export function emailProblem(text: string): string | null {
  return groupProblem(text) === null && /^[^@\s,]+@[^@\s,]+$/.test(text)
    ? null
    : 'must be an address such as ana@example.com';
}
