import { cookiesWhere } from '../../lib/http/cookie-header.ts';

const NAME = 'postern_console';
/** Several servers on one host share cookies. A sibling host can add those without `__Host-`. */
const OWN_NAMES = [/^__Host-postern_console(?:_\d{1,5})?$/, /^postern_console(?:_\d{1,5})?$/];

/** Names differ by port: browsers send cookies to all ports of a host, and servers there must not overwrite each other's. */
function cookieName(origin: URL): string {
  const port = origin.port === '' ? '' : `_${origin.port}`;
  return `${origin.protocol === 'https:' ? '__Host-' : ''}${NAME}${port}`;
}

/** For a page of this origin. `__Host-`: no other host can set or replace it (RFC 6265bis §4.1.3.2). */
export function sessionCookie(origin: URL, value: string): string {
  const secure = origin.protocol === 'https:' ? '; Secure' : '';
  return `${cookieName(origin)}=${value}; Path=/; HttpOnly; SameSite=Strict${secure}`;
}

export function endedCookie(origin: URL): string {
  return `${sessionCookie(origin, '')}; Max-Age=0`;
}

/** Values of all cookies of consoles; only one can match the token. First those that no other host can have set. */
export function cookieCandidates(header: string | undefined): readonly string[] {
  const lines = header === undefined ? [] : [header];
  return OWN_NAMES.flatMap((own) => cookiesWhere(lines, ({ name }) => own.test(name))).map(({ value }) => value);
}
