import type { IncomingMessage, RequestOptions } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { FetchedResponse } from '../../../client/call-errors.ts';
import type { Fetch } from '../../../client/transport.ts';
import { request as httpRequest } from '../../../kit/http/node-http.ts';
import type { ApiKey } from './api-key.ts';

const UNAUTHENTICATED = 401;
const REDIRECTS = [301, 302, 303, 307, 308];

/**
 * As the global fetch, for what the API needs. That one loads undici, which is a third of the CPU of a short command.
 */
export const apiFetch: Fetch = async (url, { body, headers, method, signal }) => {
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const all = { 'user-agent': 'node', 'accept-encoding': 'gzip', ...headers, ...length };
  const response = await sent(url, { method, signal, headers: all }, body);
  if (REDIRECTS.includes(response.statusCode ?? 0)) {
    response.destroy();
    throw new Error('unexpected redirect');
  }
  return fetched(response);
};

/** A process that takes over serves the API a little earlier than it gives out tokens. */
const RENEW_WITHIN_MS = 3_000;
const ASK_AGAIN_MS = 50;

/** With another token once the one of `apiKey` is rejected, where it can be renewed: the first that is accepted. */
export function fetchWith({ renew }: ApiKey): Fetch {
  if (renew === undefined) return apiFetch;
  let current: string | null = null;
  const withToken = (headers: Readonly<Record<string, string>>, token: string | null): Record<string, string> =>
    token === null ? headers : { ...headers, authorization: `Bearer ${token}` };
  return async (url, init) => {
    const answer = await apiFetch(url, { ...init, headers: withToken(init.headers, current) });
    if (answer.status !== UNAUTHENTICATED) return answer;
    for (
      const deadline = performance.now() + RENEW_WITHIN_MS;
      performance.now() < deadline;
      await sleep(ASK_AGAIN_MS)
    ) {
      for (const next of await renew()) {
        const again = await apiFetch(url, { ...init, headers: withToken(init.headers, next) });
        if (again.status === UNAUTHENTICATED) continue;
        current = next;
        return again;
      }
    }
    return answer;
  };
}

async function sent(url: string, options: RequestOptions, body: string | undefined): Promise<IncomingMessage> {
  const request = url.startsWith('https:') ? (await import('node:https')).request : httpRequest;
  return new Promise((resolve, reject) => {
    request(url, options, resolve).on('error', reject).end(body);
  });
}

function fetched(response: IncomingMessage): FetchedResponse {
  const { statusCode: status = 0, headers } = response;
  return {
    ok: status >= 200 && status < 300,
    status,
    headers: {
      get: (name) => {
        const value = headers[name];
        return (Array.isArray(value) ? value.join(', ') : value) ?? null;
      },
    },
    text: async () => {
      const bytes = Buffer.concat(await Array.fromAsync(response as AsyncIterable<Buffer>));
      if (headers['content-encoding'] !== 'gzip') return bytes.toString();
      const { gunzip } = await import('node:zlib');
      return (await promisify(gunzip)(bytes)).toString();
    },
  };
}
