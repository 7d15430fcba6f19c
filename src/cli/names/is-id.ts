/** An id is a prefix and 27 letters and digits. It is never taken for a name. */
export function isId(text: string): boolean {
  return /^[a-z]+_[0-9A-Za-z]{27}$/.test(text);
}
