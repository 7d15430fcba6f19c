import { createKsuidSource } from '../../lib/text/ksuid.ts';
import type { ObservedRequest } from '../exchange-observer.ts';
import { type ExchangeKeeper, KeptExchange } from './kept-exchange.ts';

export interface StoreLimits {
  readonly maxRequests: number;
  /** Per direction. */
  readonly maxBodyBytes: number;
  /** For all exchanges together. */
  readonly maxTotalBytes: number;
}

export interface StoreListener {
  /** The exchange started, received its response head, or ended. */
  onExchange(exchange: KeptExchange): void;
  onCleared(): void;
}

/** The most recent exchanges. The oldest is dropped when there are too many or they use too much memory. */
export class ExchangeStore implements ExchangeKeeper {
  readonly limits: StoreLimits;
  keptBytes = 0;
  /** Number of exchanges dropped to make room. */
  dropped = 0;
  readonly #exchanges = new Map<string, KeptExchange>();
  readonly #listeners = new Set<StoreListener>();
  readonly #nextId = createKsuidSource();

  constructor(limits: StoreLimits) {
    this.limits = limits;
  }

  get size(): number {
    return this.#exchanges.size;
  }

  begin(request: ObservedRequest, replayOf: string | null): KeptExchange {
    const id = `req_${this.#nextId(Date.now())}`;
    const { maxBodyBytes } = this.limits;
    const exchange = new KeptExchange({ id, request, replayOf, maxBodyBytes, keeper: this });
    this.#exchanges.set(id, exchange);
    this.keptBytes += exchange.keptBytes;
    this.#makeRoom();
    if (!exchange.isReleased) this.onChanged(exchange);
    return exchange;
  }

  get(id: string): KeptExchange | null {
    return this.#exchanges.get(id) ?? null;
  }

  newestFirst(): readonly KeptExchange[] {
    return [...this.#exchanges.values()].reverse();
  }

  clear(): void {
    for (const exchange of this.#exchanges.values()) exchange.release();
    this.#exchanges.clear();
    this.keptBytes = 0;
    for (const listener of this.#listeners) listener.onCleared();
  }

  listen(listener: StoreListener): void {
    this.#listeners.add(listener);
  }

  unlisten(listener: StoreListener): void {
    this.#listeners.delete(listener);
  }

  onGrown(_exchange: KeptExchange, bytes: number): void {
    this.keptBytes += bytes;
    this.#makeRoom();
  }

  onChanged(exchange: KeptExchange): void {
    for (const listener of this.#listeners) listener.onExchange(exchange);
  }

  #makeRoom(): void {
    const { maxRequests, maxTotalBytes } = this.limits;
    for (const [id, exchange] of this.#exchanges) {
      if (this.#exchanges.size <= maxRequests && this.keptBytes <= maxTotalBytes) return;
      this.#exchanges.delete(id);
      this.keptBytes -= exchange.keptBytes;
      this.dropped += 1;
      exchange.release();
    }
  }
}
