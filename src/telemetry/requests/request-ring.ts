import type { RecordedRequest } from './recorded-request.ts';
import { matches, type RequestFilter } from './request-filter.ts';
import { RequestSlot } from './request-slot.ts';
import { SharedLists } from './shared-lists.ts';

/** One slot without its texts, measured with 100,000 of them in Node 26; texts have one byte per character. */
const SLOT_BYTES = 560;
const BYTES_PER_PAIR = 16;

/** The last requests, bounded by their number and by their estimated size. Slots are used again, so only copies leave this file. */
export class RequestRing {
  readonly #maxSlots: number;
  readonly #maxBytes: number;
  readonly #slots: (RequestSlot | undefined)[];
  readonly #lists = new SharedLists();
  /** Position of the oldest, and the number of requests from there on. */
  #first = 0;
  #count = 0;
  #bytes = 0;

  constructor(maxRequests: number, maxBytes: number) {
    this.#maxSlots = maxRequests;
    this.#maxBytes = maxBytes;
    this.#slots = new Array<RequestSlot | undefined>(maxRequests).fill(undefined);
  }

  get isFull(): boolean {
    return this.#count === this.#maxSlots;
  }

  get count(): number {
    return this.#count;
  }

  /** Estimated size of the kept requests. */
  get bytes(): number {
    return this.#bytes;
  }

  keep(request: RecordedRequest): void {
    const bytes = bytesOf(request);
    let slot: RequestSlot | null = null;
    while (this.#count === this.#maxSlots || (this.#count > 0 && this.#bytes + bytes > this.#maxBytes)) {
      // More than one only where their size is the limit: then the others are freed, with their texts.
      slot = this.#takeOldest();
    }
    slot ??= new RequestSlot();
    slot.fill(request, this.#lists.headers(request.headers), this.#lists.passes(request.routeId, request.passes));
    slot.bytes = bytes;
    this.#slots[(this.#first + this.#count) % this.#maxSlots] = slot;
    this.#count += 1;
    this.#bytes += bytes;
  }

  find(id: string): RecordedRequest | undefined {
    for (let back = this.#count - 1; back >= 0; back -= 1) {
      const slot = this.#slot(back);
      if (slot.id === id) return slot.copy();
    }
    return undefined;
  }

  /** Those with the greatest ids, which are the newest by start: the ring is in the order in which requests finished. */
  newest(filter: RequestFilter, limit: number): readonly RecordedRequest[] {
    const found: RequestSlot[] = [];
    for (let back = this.#count - 1; back >= 0; back -= 1) {
      const slot = this.#slot(back);
      if (!matches(slot, filter)) continue;
      let at = found.length;
      while (at > 0 && (found[at - 1] as RequestSlot).id < slot.id) at -= 1;
      if (at === limit) continue;
      found.splice(at, 0, slot);
      if (found.length > limit) found.pop();
    }
    return found.map((slot) => slot.copy());
  }

  #slot(at: number): RequestSlot {
    return this.#slots[(this.#first + at) % this.#maxSlots] as RequestSlot;
  }

  #takeOldest(): RequestSlot {
    const oldest = this.#slot(0);
    this.#slots[this.#first] = undefined;
    this.#first = (this.#first + 1) % this.#maxSlots;
    this.#count -= 1;
    this.#bytes -= oldest.bytes;
    return oldest;
  }
}

function bytesOf({ path, query, host, headers, passes, waits, target }: RecordedRequest): number {
  let bytes = SLOT_BYTES + (passes.length + waits.length) * BYTES_PER_PAIR + length(path) + length(host);
  bytes += length(query) + length(target);
  for (let at = 0; at < headers.length; at += 1) bytes += (headers[at] as string).length + BYTES_PER_PAIR;
  return bytes;
}

function length(text: string | null): number {
  return text === null ? 0 : text.length;
}
