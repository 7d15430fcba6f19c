import { AsyncLocalStorage } from 'node:async_hooks';
import type { BrowserKept } from './browser-kept.ts';

/** What the provider's adapter must know of the request that it works for: the library passes it ids alone. */
export interface CurrentRequest {
  readonly browser: BrowserKept;
  /** Addresses to return to that the request names: they decide which of a route's hosts is meant. */
  readonly askedUris: readonly string[];
  /** A logout is delivered: only then is a client's address for it known to the library, which must not send it by itself. */
  readonly isDelivery: boolean;
  /** The session of the browser, once it was found. */
  sessionUid: string | null;
  /** Ids of sessions that end with the request, unless they were replaced. */
  readonly endedSessions: Set<string>;
}

const storage = new AsyncLocalStorage<CurrentRequest>();

export function withRequest<Result>(request: CurrentRequest, run: () => Promise<Result>): Promise<Result> {
  return storage.run(request, run);
}

export function currentRequest(): CurrentRequest {
  const request = storage.getStore();
  if (request === undefined) throw new Error('the OpenID provider was called without a request');
  return request;
}
