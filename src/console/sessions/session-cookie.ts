const NAME = 'postern_console';
const OWN_NAME = /^(?:__Host-)?postern_console(?:_\d{1,5})?$/;
/** Several servers on one host share cookies, and a sibling domain can add some. */
const MAX_CANDIDATES = 16;

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

/** Values of all cookies of consoles; only one can match the token. */
export function cookieCandidates(header: string | undefined): readonly string[] {
  return (header ?? '')
    .split(';')
    .map((pair) => {
      const at = pair.indexOf('=');
      return { name: pair.slice(0, at).trim(), value: pair.slice(at + 1).trim() };
    })
    .filter(({ name }) => OWN_NAME.test(name))
    .slice(0, MAX_CANDIDATES)
    .map(({ value }) => value);
}
