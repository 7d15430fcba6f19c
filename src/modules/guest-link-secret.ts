import { isSameSecret } from '../lib/text/is-same-secret.ts';

/** Where guests open and redeem links. */
export const GUEST_PATH = '/.postern/guest';

const TOKEN_PREFIX = 'postern_gl_';
const MAC_LENGTH = 32;
const SECRET = /^(postern_gl_[A-Za-z0-9_-]{43})\.([0-9a-f]{32})$/;

type Mac = (purpose: string, data: string) => string;

/** The MAC proves that this server issued the link after its record is gone: so a deleted link is answered as revoked. */
export function newGuestSecret(newToken: (prefix: string) => string, mac: Mac): string {
  const token = newToken(TOKEN_PREFIX);
  return `${token}.${macOf(token, mac)}`;
}

/** Whether it has the form of a secret. */
export function isGuestSecret(text: string): boolean {
  return SECRET.test(text);
}

/** Whether this server made it, with its current secret key. */
export function isGenuineSecret(secret: string, mac: Mac): boolean {
  const [, token, given] = SECRET.exec(secret) ?? [];
  if (token === undefined || given === undefined) return false;
  return isSameSecret(given, macOf(token, mac));
}

/**
 * The secret is in the query: the access log and traffic events record paths and never queries. A fragment would stay in
 * the browser, but then the server could not tell a visitor that a link is spent.
 */
export function guestLinkUrl({ host, port }: { readonly host: string; readonly port: string }, secret: string): string {
  return `https://${host}${port === '443' ? '' : `:${port}`}${GUEST_PATH}?link=${secret}`;
}

function macOf(token: string, mac: Mac): string {
  return mac('guest-link', token).slice(0, MAC_LENGTH);
}
