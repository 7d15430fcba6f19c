import { reportBug } from '../lib/bug-report.ts';
import type { RecordedRequest } from './recorded-request.ts';
import { matches, type RequestFilter } from './request-filter.ts';

export interface RequestHistoryOptions {
  /** 0: nothing is kept. */
  readonly maxRequests: number;
  readonly maxBytes?: number;
}

export type RequestListener = (request: RecordedRequest) => void;

const MAX_BYTES = 16 * 1_048_576;
/** One record without its texts, measured with 100,000 of them in Node 26; texts have one byte per character. */
const RECORD_BYTES = 480;
const BYTES_PER_PAIR = 16;

/** The last requests of this process, in a ring that is bounded by their number and by their estimated size. */
export class RequestHistory {
  readonly #maxRequests: number;
  readonly #maxBytes: number;
  readonly #ring: (RecordedRequest | undefined)[];
  readonly #listeners = new Set<RequestListener>();
  /** Position of the oldest, and the number of requests from there on. */
  #first = 0;
  #count = 0;
  #bytes = 0;

  constructor({ maxRequests, maxBytes = MAX_BYTES }: RequestHistoryOptions) {
    this.#maxRequests = maxRequests;
    this.#maxBytes = maxBytes;
    this.#ring = new Array<RecordedRequest | undefined>(maxRequests).fill(undefined);
  }

  /** Whether anybody wants to know of requests: otherwise the edge need not describe them. */
  get isWanted(): boolean {
    return this.#maxRequests > 0 || this.#listeners.size > 0;
  }

  get count(): number {
    return this.#count;
  }

  /** Estimated size of the kept requests. */
  get bytes(): number {
    return this.#bytes;
  }

  record(request: RecordedRequest): void {
    if (this.#maxRequests > 0) this.#keep(request);
    for (const listener of this.#listeners) {
      try {
        listener(request);
      } catch (error) {
        // Traffic does not depend on those who watch it.
        reportBug(error, { part: 'request history', request_id: request.id });
      }
    }
  }

  #keep(request: RecordedRequest): void {
    const bytes = bytesOf(request);
    while (this.#count === this.#maxRequests || (this.#count > 0 && this.#bytes + bytes > this.#maxBytes)) this.#drop();
    this.#ring[(this.#first + this.#count) % this.#maxRequests] = request;
    this.#count += 1;
    this.#bytes += bytes;
  }

  #drop(): void {
    this.#bytes -= bytesOf(this.#ring[this.#first] as RecordedRequest);
    this.#ring[this.#first] = undefined;
    this.#first = (this.#first + 1) % this.#maxRequests;
    this.#count -= 1;
  }

  find(id: string): RecordedRequest | undefined {
    for (const request of this.#newestFirst()) if (request.id === id) return request;
    return undefined;
  }

  /** The newest by start. */
  list(filter: RequestFilter, limit: number): readonly RecordedRequest[] {
    const found: RecordedRequest[] = [];
    for (const request of this.#newestFirst()) if (matches(request, filter)) found.push(request);
    // The ring is in the order in which requests finished.
    return found.sort((one, other) => (one.id < other.id ? 1 : -1)).slice(0, limit);
  }

  /** Called with every request that finishes from now on, until the returned function is called. */
  subscribe(listener: RequestListener): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  *#newestFirst(): Iterable<RecordedRequest> {
    for (let back = this.#count - 1; back >= 0; back -= 1)
      yield this.#ring[(this.#first + back) % this.#maxRequests] as RecordedRequest;
  }
}

function bytesOf({ path, query, host, headers, passes, waits, target }: RecordedRequest): number {
  let bytes = RECORD_BYTES + (passes.length + waits.length) * BYTES_PER_PAIR + length(path) + length(host);
  bytes += length(query) + length(target);
  for (const text of headers) bytes += text.length + BYTES_PER_PAIR;
  return bytes;
}

function length(text: string | null): number {
  return text === null ? 0 : text.length;
}
