import type { IncomingMessage, ServerResponse } from 'node:http';
import { pathOf } from './served-paths.ts';

/** Headers of requests that a page may send beside those that every page may. */
const REQUEST_HEADERS = [
  'authorization',
  'content-type',
  'idempotency-key',
  'if-match',
  'if-none-match',
  'ngrok-version',
  'service-version',
];
/** Headers of responses that a page may read beside those that every page may. */
const RESPONSE_HEADERS = [
  'allow',
  'etag',
  'location',
  'postern-count',
  'postern-operation-id',
  'postern-problem',
  'postern-revision',
  'postern-warning',
  'retry-after',
  'www-authenticate',
];
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];
/** Seconds; browsers cap it. Short: a removed origin must not linger. */
const MAX_AGE = '600';

/**
 * Lets pages of other origins use the API with a key of their own (the CORS protocol of the Fetch standard). It never
 * allows credentials: a cookie of the console is of no use to such a page, and the console's own paths are left out.
 */
export class CrossOrigin {
  readonly #origins: ReadonlySet<string>;

  constructor(origins: readonly string[]) {
    this.#origins = new Set(origins);
  }

  /** Adds the headers for any response. True: the request was a preflight, and is answered. */
  answer({ method, url = '', headers }: IncomingMessage, response: ServerResponse): boolean {
    if (/^\/console(?:\/|$)/.test(decoded(pathOf(url)))) return false;
    response.setHeader('vary', 'origin');
    const { origin } = headers;
    if (origin === undefined || !this.#origins.has(origin)) return false;
    response.setHeader('access-control-allow-origin', origin);
    if (method !== 'OPTIONS' || headers['access-control-request-method'] === undefined) {
      response.setHeader('access-control-expose-headers', RESPONSE_HEADERS.join(', '));
      return false;
    }
    // The same for every path: a preflight has no key, and tells nothing about paths.
    response
      .writeHead(204, {
        'access-control-allow-methods': METHODS.join(', '),
        'access-control-allow-headers': REQUEST_HEADERS.join(', '),
        'access-control-max-age': MAX_AGE,
        'cache-control': 'no-store',
      })
      .end();
    return true;
  }
}

/** As the router reads it: `/%63onsole` is the console. A path that cannot be decoded is served by nobody. */
function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
