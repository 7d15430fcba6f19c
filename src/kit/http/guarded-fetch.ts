import { lookup as systemLookup } from 'node:dns';
import type { Agent as HttpAgent, IncomingMessage } from 'node:http';
import { type Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import { type ListenerOwner, listen } from '../guarded-listeners.ts';
import { parseAddress } from '../net/cidr.ts';
import { ForbiddenAddressError, guardedLookup } from '../net/lookups.ts';
import { GatheredBytes } from '../net/waiting-bytes.ts';
import { FetchProblem, problemOf } from './fetch-problem.ts';
import { request as httpRequest } from './node-http.ts';

export interface GuardedFetchInit {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | URLSearchParams | null;
  readonly signal?: AbortSignal;
  /** Takes the body, which the response then lacks: reading 60 MB from a response blocks for a second. */
  readonly into?: GatheredBytes;
}

/** Same shape as `fetch`. Failures are FetchProblems, and the response is complete when the promise resolves. */
export type GuardedFetch = (url: string | URL, init?: GuardedFetchInit) => Promise<Response>;

export interface GuardedFetchOptions {
  /** Called when connecting, with the address that is about to be used. IPv4 inside IPv6 is passed as IPv4. */
  isAddressAllowed(ip: string, port: number, isTls: boolean): boolean;
  /** Hosts, as in URL.hostname, that may be contacted without TLS. */
  isPlainHttpAllowed(hostname: string): boolean;
  /** Trusted instead of the runtime's authorities. */
  readonly ca?: string | readonly string[] | undefined;
  readonly lookup?: LookupFunction | undefined;
  /** For the whole request, from resolving the name to the last byte. */
  readonly timeoutMs?: number;
  readonly maxBytes?: number;
  /** How to treat a longer response: fail, or truncate it. */
  readonly excess?: 'fail' | 'cut';
  /**
   * Keeps connections for the next request; an address is checked when its connection is made. Without agents each
   * request has its own connection.
   */
  readonly agents?: { readonly http: HttpAgent; readonly https: HttpsAgent } | undefined;
}

const DEFAULT_TIMEOUT_MS = 10_000;
const DEFAULT_MAX_BYTES = 1_048_576;
/** Each chunk costs about 2 µs, so that 16 MB in chunks of one byte would keep the process busy for half a minute. */
const MANY_PIECES = 8192;
const TINY_BYTES = 16;
/**
 * Informational answers (RFC 9110 §15.2), of which a server may send any number. A loop of them blocked for 200 ms at a
 * time.
 */
const MAX_INFORMATIONAL = 100;
const BODILESS_STATUSES: readonly number[] = [204, 205, 304];

/**
 * Contacts servers named by third parties, such as OpenID providers. A redirect is returned like any other response and
 * never followed: it would carry credentials to a place that nobody configured.
 */
export function createGuardedFetch(options: GuardedFetchOptions): GuardedFetch {
  const timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  const limit = { maxBytes: options.maxBytes ?? DEFAULT_MAX_BYTES, excess: options.excess ?? 'fail' };
  return async (address, init = {}) => {
    const url = new URL(address);
    const port = allowedPort(url, options);
    return new Promise((resolve, reject) => {
      const request = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, {
        method: init.method ?? 'GET',
        headers: { ...init.headers },
        agent: (url.protocol === 'https:' ? options.agents?.https : options.agents?.http) ?? false,
        lookup: guardedLookup(options.lookup ?? systemLookup, (ip) => isAllowed(options, ip, port, url)),
        // Set explicitly because an environment variable of the runtime can turn it off.
        rejectUnauthorized: true,
        ...(options.ca === undefined ? {} : { ca: typeof options.ca === 'string' ? options.ca : [...options.ca] }),
      });
      const fail = (error: unknown): void => {
        end();
        reject(problemOf(error, url));
        request.destroy();
      };
      const giveUp = (): void => fail(new FetchProblem('timeout', url, 'the request was canceled before the response'));
      const timer = setTimeout(
        () => fail(new FetchProblem('timeout', url, `no complete response within ${timeoutMs} ms`)),
        timeoutMs,
      );
      const end = (): void => {
        clearTimeout(timer);
        init.signal?.removeEventListener('abort', giveUp);
      };
      // Stays attached after the end: destroying a request makes it emit once more.
      const owner: ListenerOwner = { contain: fail };
      listen(request, 'error', owner, fail);
      let informational = 0;
      listen(request, 'information', owner, () => {
        informational += 1;
        if (informational > MAX_INFORMATIONAL)
          fail(new FetchProblem('too_large', url, `more than ${MAX_INFORMATIONAL} informational answers came first`));
      });
      // Nobody asked for another protocol, and no response would follow.
      listen(request, 'upgrade', owner, (_response: IncomingMessage, socket: Socket) => {
        socket.destroy();
        fail(new FetchProblem('unreachable', url, 'the server switched to another protocol'));
      });
      listen(request, 'response', owner, (response: IncomingMessage) => {
        const gathered = init.into ?? new GatheredBytes();
        gather(response, gathered, limit, url)
          .then((body) => {
            const whole = answer(response, init.into === undefined ? body() : null);
            end();
            resolve(whole);
          })
          .catch(fail);
      });
      init.signal?.addEventListener('abort', giveUp);
      if (init.signal?.aborted === true) giveUp();
      else request.end(init.body === undefined || init.body === null ? undefined : String(init.body));
    });
  };
}

/** Returns the port if the URL is allowed. A host that is an address is never looked up, so it is checked here. */
function allowedPort(url: URL, options: GuardedFetchOptions): number {
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && options.isPlainHttpAllowed(url.hostname))) {
    throw new FetchProblem('plain_http', url, 'only https is allowed');
  }
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
  // The runtime would connect to the port of the scheme, which nobody has checked.
  if (port === 0) throw new FetchProblem('address_refused', url, 'connections to port 0 are not allowed');
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  if (isIP(host) !== 0 && !isAllowed(options, host, port, url)) throw problemOf(new ForbiddenAddressError(host), url);
  return port;
}

function isAllowed(options: GuardedFetchOptions, ip: string, port: number, url: URL): boolean {
  const address = parseAddress(ip);
  return address !== null && options.isAddressAllowed(address.toString(), port, url.protocol === 'https:');
}

interface BodyLimit {
  readonly maxBytes: number;
  readonly excess: 'fail' | 'cut';
}

/** Not by `for await`, which blocks for 140 ms when a packet contains 10,000 chunks. */
function gather(
  response: IncomingMessage,
  gathered: GatheredBytes,
  { maxBytes, excess }: BodyLimit,
  url: URL,
): Promise<() => Buffer> {
  let pieces = 0;
  return new Promise((resolve, reject) => {
    const owner: ListenerOwner = { contain: reject };
    const truncated = (): void => reject(new FetchProblem('unreachable', url, 'the response was truncated'));
    listen(response, 'data', owner, (chunk: Buffer) => {
      gathered.add(chunk);
      pieces += 1;
      if (pieces > MANY_PIECES && gathered.length < pieces * TINY_BYTES) {
        reject(new FetchProblem('too_large', url, `the response comes in more than ${MANY_PIECES} tiny chunks`));
        response.destroy();
      }
      if (gathered.length <= maxBytes) return;
      if (excess === 'cut') resolve(() => gathered.whole().subarray(0, maxBytes));
      else reject(new FetchProblem('too_large', url, `the response is larger than ${maxBytes} bytes`));
      response.destroy();
    });
    listen(response, 'end', owner, () => (response.complete ? resolve(() => gathered.whole()) : truncated()));
    listen(response, 'error', owner, reject);
    listen(response, 'close', owner, truncated);
  });
}

function answer(response: IncomingMessage, body: Buffer | null): Response {
  const headers = new Headers();
  for (const [name, values] of Object.entries(response.headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value);
  }
  const status = response.statusCode ?? 0;
  if (status < 200 || status > 599) throw new Error(`the response has the status ${status}, which does not exist`);
  const isBodiless = body === null || BODILESS_STATUSES.includes(status);
  return new Response(isBodiless ? null : new Uint8Array(body), { status, headers });
}
