import { lookup as systemLookup } from 'node:dns';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { parseAddress } from './cidr.ts';
import { FetchProblem, problemOf } from './fetch-problem.ts';
import { ForbiddenAddressError, guardedLookup } from './guarded-lookup.ts';

export interface GuardedFetchInit {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | URLSearchParams | null;
  readonly signal?: AbortSignal;
}

/** Shaped like `fetch`. What goes wrong is a FetchProblem, and the answer is there as a whole when the promise resolves. */
export type GuardedFetch = (url: string | URL, init?: GuardedFetchInit) => Promise<Response>;

export interface GuardedFetchOptions {
  /** Judged at the moment of connecting, with the address that is connected to. IPv4 inside IPv6 is asked about as IPv4. */
  isAddressAllowed(ip: string, port: number): boolean;
  /** Hosts, as in URL.hostname, that may be asked without TLS. */
  isPlainHttpAllowed(hostname: string): boolean;
  /** Trusted in place of the runtime's authorities. */
  readonly ca?: string | readonly string[] | undefined;
  readonly lookup?: LookupFunction | undefined;
  /** For the whole of it, from resolving the name to the last byte. */
  readonly timeoutMs?: number;
  readonly maxBytes?: number;
}

const DEFAULT_TIMEOUT_MS = 10_000;
const DEFAULT_MAX_BYTES = 1_048_576;
const BODILESS_STATUSES: readonly number[] = [204, 205, 304];

/**
 * Asks servers that others named, such as OpenID providers. A redirect is an answer like any other and is never followed: it
 * would carry credentials to a place that nobody configured. Each request has its own connection; such calls are rare.
 */
export function createGuardedFetch(options: GuardedFetchOptions): GuardedFetch {
  const timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  const maxBytes = options.maxBytes ?? DEFAULT_MAX_BYTES;
  return async (address, init = {}) => {
    const url = new URL(address);
    const port = allowedPort(url, options);
    return new Promise((resolve, reject) => {
      const request = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, {
        method: init.method ?? 'GET',
        headers: { ...init.headers },
        agent: false,
        lookup: guardedLookup(options.lookup ?? systemLookup, (ip) => isAllowed(options, ip, port)),
        // Said here because an environment variable of the runtime can turn it off.
        rejectUnauthorized: true,
        ...(options.ca === undefined ? {} : { ca: typeof options.ca === 'string' ? options.ca : [...options.ca] }),
      });
      const fail = (error: unknown): void => {
        end();
        reject(problemOf(error, url));
        request.destroy();
      };
      const giveUp = (): void => fail(new FetchProblem('timeout', url, 'the request was given up before the answer'));
      const timer = setTimeout(
        () => fail(new FetchProblem('timeout', url, `no complete answer within ${timeoutMs} ms`)),
        timeoutMs,
      );
      const end = (): void => {
        clearTimeout(timer);
        init.signal?.removeEventListener('abort', giveUp);
      };
      // Stays after the end: destroying a request makes it emit once more.
      request.on('error', fail);
      request.on('response', (response) => {
        gather(response, maxBytes, url)
          .then((body) => {
            const whole = answer(response, body);
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

/** The port, when the URL may be asked at all. A host that is an address is never looked up, so it is judged here. */
function allowedPort(url: URL, options: GuardedFetchOptions): number {
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && options.isPlainHttpAllowed(url.hostname))) {
    throw new FetchProblem('plain_http', url, 'only https is asked');
  }
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  if (isIP(host) !== 0 && !isAllowed(options, host, port)) throw problemOf(new ForbiddenAddressError(host), url);
  return port;
}

function isAllowed(options: GuardedFetchOptions, ip: string, port: number): boolean {
  const address = parseAddress(ip);
  return address !== null && options.isAddressAllowed(address.toString(), port);
}

async function gather(response: IncomingMessage, maxBytes: number, url: URL): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new FetchProblem('too_large', url, `the answer has more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  if (!response.complete) throw new FetchProblem('unreachable', url, 'the answer broke off');
  return Buffer.concat(chunks);
}

function answer(response: IncomingMessage, body: Buffer): Response {
  const headers = new Headers();
  for (const [name, values] of Object.entries(response.headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value);
  }
  const status = response.statusCode ?? 0;
  return new Response(BODILESS_STATUSES.includes(status) ? null : new Uint8Array(body), { status, headers });
}
