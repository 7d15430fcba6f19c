/** OpenID Connect Core §2: at most 255 ASCII characters. Printable, because it goes into headers, logs and keys of records. */
export function isSubject(sub: unknown): sub is string {
  return typeof sub === 'string' && /^[\x20-\x7e]{1,255}$/.test(sub);
}
