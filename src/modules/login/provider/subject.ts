/**
 * OpenID Connect Core §2: at most 255 ASCII characters. Printable, because it is used in headers, logs and record keys.
 */
export function isSubject(sub: unknown): sub is string {
  return typeof sub === 'string' && /^[\x20-\x7e]{1,255}$/.test(sub);
}
