interface Cookie {
  readonly name: string;
  readonly value: string;
  readonly host: string;
  readonly isHostOnly: boolean;
  readonly path: string;
  readonly isSecure: boolean;
  readonly isHttpOnly: boolean;
  readonly sameSite: string;
  readonly expiresAtMs: number;
}

/**
 * A browser's cookie handling (RFC 6265bis), as far as the product depends on it. Cookies are not separated by port.
 */
export class CookieJar {
  readonly #now: () => number;
  #cookies: Cookie[] = [];

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** Applies the Set-Cookie lines of a response; those that a browser would reject are dropped. */
  store(url: string | URL, setCookie: string | readonly string[] | undefined): void {
    for (const line of typeof setCookie === 'string' ? [setCookie] : (setCookie ?? [])) {
      const cookie = parse(line, new URL(url), this.#now());
      if (cookie === null) continue;
      // A replaced cookie keeps its position.
      const index = this.#cookies.findIndex((other) => isSameCookie(other, cookie));
      this.#cookies.splice(index === -1 ? this.#cookies.length : index, 1, cookie);
      this.#cookies = this.#cookies.filter(({ expiresAtMs }) => expiresAtMs > this.#now());
    }
  }

  /** The Cookie header for a request, or undefined when there is nothing to send. */
  header(url: string | URL): string | undefined {
    const sent = this.cookiesFor(url).map(({ name, value }) => `${name}=${value}`);
    return sent.length === 0 ? undefined : sent.join('; ');
  }

  /** Longer paths first, then in the order in which they were first set. */
  cookiesFor(url: string | URL): readonly Cookie[] {
    const { hostname, pathname, protocol } = new URL(url);
    return this.#cookies
      .filter((cookie) => cookie.expiresAtMs > this.#now())
      .filter((cookie) => (cookie.isHostOnly ? hostname === cookie.host : isUnder(hostname, cookie.host)))
      .filter((cookie) => isPathUnder(pathname, cookie.path))
      .filter((cookie) => !cookie.isSecure || protocol === 'https:')
      .sort((one, other) => other.path.length - one.path.length);
  }

  get(url: string | URL, name: string): Cookie | undefined {
    return this.cookiesFor(url).find((cookie) => cookie.name === name);
  }

  /** An independent copy, such as a stolen cookie or another browser. */
  copy(): CookieJar {
    const copied = new CookieJar(this.#now);
    copied.#cookies = [...this.#cookies];
    return copied;
  }

  clear(): void {
    this.#cookies = [];
  }
}

function parse(line: string, url: URL, nowMs: number): Cookie | null {
  const [pair = '', ...rest] = line.split(';');
  const equals = pair.indexOf('=');
  if (equals < 1) return null;
  const name = pair.slice(0, equals).trim();
  const attributes = new Map(rest.map((text) => splitAttribute(text)));
  const domain = (attributes.get('domain') ?? '').replace(/^\./, '').toLowerCase();
  const path = attributes.get('path') ?? '';
  const cookie: Cookie = {
    name,
    value: pair.slice(equals + 1).trim(),
    host: domain || url.hostname,
    isHostOnly: domain === '',
    path: path.startsWith('/') ? path : defaultPath(url.pathname),
    isSecure: attributes.has('secure'),
    isHttpOnly: attributes.has('httponly'),
    sameSite: (attributes.get('samesite') ?? 'lax').toLowerCase(),
    expiresAtMs: expiry(attributes, nowMs),
  };
  return isAcceptable(cookie, url) ? cookie : null;
}

function isAcceptable(cookie: Cookie, url: URL): boolean {
  if (!cookie.isHostOnly && (!cookie.host.includes('.') || !isUnder(url.hostname, cookie.host))) return false;
  if (cookie.isSecure && url.protocol !== 'https:') return false;
  const name = cookie.name.toLowerCase();
  if (name.startsWith('__secure-') && !cookie.isSecure) return false;
  return !name.startsWith('__host-') || (cookie.isSecure && cookie.isHostOnly && cookie.path === '/');
}

function splitAttribute(text: string): [string, string] {
  const equals = text.indexOf('=');
  if (equals === -1) return [text.trim().toLowerCase(), ''];
  return [text.slice(0, equals).trim().toLowerCase(), text.slice(equals + 1).trim()];
}

/** Max-Age overrides Expires; without both the cookie lives as long as the browser. */
function expiry(attributes: ReadonlyMap<string, string>, nowMs: number): number {
  const maxAge = attributes.get('max-age');
  if (maxAge !== undefined && /^-?\d+$/.test(maxAge)) return Number(maxAge) <= 0 ? 0 : nowMs + Number(maxAge) * 1000;
  const expires = Date.parse(attributes.get('expires') ?? '');
  return Number.isNaN(expires) ? Infinity : expires;
}

function defaultPath(pathname: string): string {
  const end = pathname.lastIndexOf('/');
  return end <= 0 ? '/' : pathname.slice(0, end);
}

function isPathUnder(pathname: string, path: string): boolean {
  return pathname === path || pathname.startsWith(path.endsWith('/') ? path : `${path}/`);
}

function isUnder(hostname: string, domain: string): boolean {
  return hostname === domain || hostname.endsWith(`.${domain}`);
}

function isSameCookie(one: Cookie, other: Cookie): boolean {
  return (
    one.name === other.name && one.host === other.host && one.path === other.path && one.isHostOnly === other.isHostOnly
  );
}
