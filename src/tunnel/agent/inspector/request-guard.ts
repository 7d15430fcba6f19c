import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isSameSecret } from '../../../kit/text/secrets.ts';

/** A request that the inspector rejects, with the reason. `inspector-server.ts` renders it as JSON. */
export class InspectorRefusal extends Error {
  readonly status: number;
  /** Stable code. */
  readonly error: string;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, error: string, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.name = 'InspectorRefusal';
    this.status = status;
    this.error = error;
    this.headers = headers;
  }
}

const TOKEN_HEADER = 'postern-inspector-token';

const JSON_TYPE = /^application\/json(?: *; *charset=utf-8)?$/i;

/**
 * Decides which requests are allowed. There is no login: any program on this machine may use the inspector. The checks
 * defend against pages of other origins in a browser on this machine: DNS rebinding (the Host is not ours), blind
 * requests (Sec-Fetch-Site, Origin, a content type that no form can send), and, as a last line, pages that never
 * received the token of our page.
 */
export class RequestGuard {
  /** Per process; only our own page has it. */
  readonly token = randomBytes(32).toString('base64url');
  readonly #ownHosts: ReadonlySet<string>;
  readonly #allowedHosts: readonly string[];

  constructor(port: number, allowedHosts: readonly string[]) {
    const names = ['localhost', '127.0.0.1', '[::1]'];
    this.#ownHosts = new Set(names.flatMap((name) => (port === 80 ? [name, `${name}:80`] : [`${name}:${port}`])));
    this.#allowedHosts = allowedHosts.map((host) => host.toLowerCase());
  }

  /** Applies to every request. Throws `InspectorRefusal`. */
  checkHost(request: IncomingMessage): void {
    const { rawHeaders } = request;
    const hosts = rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === 'host');
    const host = hosts[0]?.toLowerCase();
    if (hosts.length === 1 && host !== undefined && this.#isAllowed(host)) return;
    throw new InspectorRefusal(
      403,
      'forbidden_host',
      'the inspector does not accept this host name: use http://127.0.0.1 or http://localhost with its port, or allow the name in its options',
    );
  }

  /** Applies to everything except the page itself, which others may link to. */
  checkSite({ headers }: IncomingMessage, isWrite: boolean): void {
    const site = headers['sec-fetch-site'];
    const isOwnSite = site === undefined || site === 'same-origin' || (site === 'none' && !isWrite);
    const { origin } = headers;
    const host = headers.host?.toLowerCase();
    const isOwnOrigin =
      origin === undefined ||
      origin.toLowerCase() === `http://${host}` ||
      // Allowed only behind a proxy with a name of its own.
      (origin.toLowerCase() === `https://${host}` && !this.#ownHosts.has(host ?? ''));
    if (isOwnSite && isOwnOrigin) return;
    throw new InspectorRefusal(403, 'forbidden_origin', 'requests from other origins are not allowed');
  }

  checkWrite({ headers }: IncomingMessage): void {
    if (!JSON_TYPE.test(headers['content-type'] ?? '')) {
      throw new InspectorRefusal(415, 'not_json', 'the content type must be application/json');
    }
    const given = headers[TOKEN_HEADER];
    if (typeof given === 'string' && isSameSecret(given, this.token)) return;
    throw new InspectorRefusal(403, 'wrong_token', `the header ${TOKEN_HEADER} must contain the token of the page`);
  }

  #isAllowed(host: string): boolean {
    if (this.#ownHosts.has(host)) return true;
    return this.#allowedHosts.some((allowed) => host === allowed || withoutPort(host) === allowed);
  }
}

function withoutPort(host: string): string {
  return host.replace(/:\d{1,5}$/, '');
}
