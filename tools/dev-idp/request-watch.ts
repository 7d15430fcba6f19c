import { setTimeout as sleep } from 'node:timers/promises';

export type Endpoint = 'discovery' | 'jwks' | 'authorization' | 'token' | 'userinfo' | 'end_session' | 'other';

const ENDPOINTS: Readonly<Record<string, Endpoint>> = {
  '/.well-known/openid-configuration': 'discovery',
  '/jwks': 'jwks',
  '/auth': 'authorization',
  '/token': 'token',
  '/me': 'userinfo',
  '/session/end': 'end_session',
};

/** An answered token request. */
export interface TokenRequest {
  readonly grantType: string;
  readonly clientId: string | undefined;
  /** The OAuth error code, or null. */
  readonly error: string | null;
}

/** Records requests for tests, and can make them wait. */
export class RequestWatch {
  readonly tokenRequests: TokenRequest[] = [];
  readonly #counts = new Map<Endpoint, number>();
  readonly #delaysMs = new Map<Endpoint, number>();
  readonly #gates = new Map<Endpoint, Promise<void>>();
  readonly #waiters = new Map<Endpoint, (() => void)[]>();

  count(endpoint: Endpoint): number {
    return this.#counts.get(endpoint) ?? 0;
  }

  /** Resolves when the next request for the endpoint has arrived; it may still be held. */
  next(endpoint: Endpoint): Promise<void> {
    return new Promise((resolve) => {
      this.#waiters.set(endpoint, [...(this.#waiters.get(endpoint) ?? []), resolve]);
    });
  }

  /** Delays the endpoint's responses by this long; 0 ends it. */
  delay(endpoint: Endpoint, delayMs: number): void {
    this.#delaysMs.set(endpoint, delayMs);
  }

  /** Holds the endpoint's responses until the returned function is called. */
  hold(endpoint: Endpoint): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#gates.set(endpoint, promise);
    return () => {
      if (this.#gates.get(endpoint) === promise) this.#gates.delete(endpoint);
      resolve();
    };
  }

  /** Called for each request before it is served. */
  async arrived(path: string): Promise<void> {
    const endpoint = ENDPOINTS[path] ?? 'other';
    this.#counts.set(endpoint, this.count(endpoint) + 1);
    const waiters = this.#waiters.get(endpoint) ?? [];
    this.#waiters.delete(endpoint);
    for (const resolve of waiters) resolve();
    const delayMs = this.#delaysMs.get(endpoint) ?? 0;
    if (delayMs > 0) await sleep(delayMs);
    await this.#gates.get(endpoint);
  }
}
