import { reportBug } from '../../../kit/guarded-listeners.ts';
import type { CountedRequest, RecordedRequest } from './recorded-request.ts';
import type { RequestFilter } from './request-filter.ts';
import { RequestRing } from './request-ring.ts';

export interface RequestHistoryOptions {
  /** 0: nothing is kept. */
  readonly maxRequests: number;
  readonly maxBytes?: number;
}

/** The request is the caller's: a listener that wants it later copies it. */
export type RequestListener = (request: RecordedRequest) => void;

const MAX_BYTES = 16 * 1_048_576;
/** Strangers choose these names: a page of requests has room for all of them and for others. */
const MAX_UNKNOWN_NAMES = 20;
const MAX_UNKNOWN_BYTES = 65_536;
const NONE: readonly RecordedRequest[] = [];

/** The last requests of this process, and those who follow them. */
export class RequestHistory {
  readonly #ring: RequestRing | null;
  readonly #unknownNames: RequestRing | null;
  readonly #listeners = new Set<RequestListener>();
  #statistics: (request: CountedRequest) => void = () => {};
  #onFollowed: (isFollowed: boolean) => void = () => {};

  constructor({ maxRequests, maxBytes = MAX_BYTES }: RequestHistoryOptions) {
    this.#ring = maxRequests === 0 ? null : new RequestRing(maxRequests, maxBytes);
    this.#unknownNames = maxRequests === 0 ? null : new RequestRing(MAX_UNKNOWN_NAMES, MAX_UNKNOWN_BYTES);
  }

  /** Whether anybody wants to know of requests: otherwise the edge need not describe them. */
  get isWanted(): boolean {
    return this.#ring !== null || this.#listeners.size > 0;
  }

  /** Number of the kept requests. */
  get count(): number {
    return this.#ring?.count ?? 0;
  }

  /** Whether a new request replaces an old one. */
  get isFull(): boolean {
    return this.#ring?.isFull ?? true;
  }

  /** Estimated size of the kept requests. */
  get bytes(): number {
    return this.#ring?.bytes ?? 0;
  }

  record(request: RecordedRequest): void {
    this.tally(request);
    this.#ring?.keep(request);
    this.tell(request);
  }

  /** For a name that no site has. It replaces another one of these, never a request to a site, and is no part of the statistics. */
  recordUnknownName(request: RecordedRequest): void {
    this.#unknownNames?.keep(request);
    this.tell(request);
  }

  /** For a request of another thread, which keeps it. */
  tell(request: RecordedRequest): void {
    for (const listener of this.#listeners) {
      try {
        listener(request);
      } catch (error) {
        // Traffic does not depend on those who watch it.
        reportBug(error, { part: 'request history', request_id: request.id });
      }
    }
  }

  /** For a request that nobody wants to know: it is part of the statistics. */
  tally(request: CountedRequest): void {
    try {
      this.#statistics(request);
    } catch (error) {
      reportBug(error, { part: 'request statistics' });
    }
  }

  /** Called with every request that finishes, whether the history is on or off. It does not keep the request. */
  tallyWith(statistics: (request: CountedRequest) => void): void {
    this.#statistics = statistics;
  }

  find(id: string): RecordedRequest | undefined {
    return this.#ring?.find(id) ?? this.#unknownNames?.find(id);
  }

  /** The newest by start. */
  list(filter: RequestFilter, limit: number): readonly RecordedRequest[] {
    const found = this.#ring?.newest(filter, limit) ?? NONE;
    const unknown = this.#unknownNames?.newest(filter, limit) ?? NONE;
    if (unknown.length === 0) return found;
    return [...found, ...unknown].sort((one, other) => (one.id < other.id ? 1 : -1)).slice(0, limit);
  }

  /** Called with every request that finishes from now on, until the returned function is called. */
  subscribe(listener: RequestListener): () => void {
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) this.#onFollowed(true);
    return () => {
      if (this.#listeners.delete(listener) && this.#listeners.size === 0) this.#onFollowed(false);
    };
  }

  /** Called when the first one subscribes, and when the last one has gone. */
  onFollowed(listener: (isFollowed: boolean) => void): void {
    this.#onFollowed = listener;
  }
}
