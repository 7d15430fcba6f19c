/** Other programs read a port with leading zeros, or 0, as another port or as none. */
const AUTHORITY = /^[A-Za-z0-9._-]{1,253}(?::([1-9]\d{0,4}))?$/;
const MAX_PORT = 65_535;

/** Whether a text can be sent as Host: a name or an IPv4 address, with or without a port. */
export function isAuthority(text: string): boolean {
  const named = AUTHORITY.exec(text);
  return named !== null && Number(named[1] ?? 0) <= MAX_PORT;
}
