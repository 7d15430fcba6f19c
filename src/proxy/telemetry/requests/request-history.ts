import { reportBug } from '../../../kit/guarded-listeners.ts';
import type { HeaderList } from '../../../kit/http/header-values.ts';
import type { CountedRequest, PassedBy, RecordedRequest } from './recorded-request.ts';
import { matches, type RequestFilter } from './request-filter.ts';

const NOTHING: readonly never[] = [];

/**
 * One place of the history, filled again and again. With a new object per request, the collector copies each of them
 * twice, with its numbers and lists, before another request replaces it: this was half of the cost of the history.
 * Numbers are never null, so that they are changed in place.
 */
class RequestSlot {
  id = '';
  startedAtMs = Number.NaN;
  durationMs = Number.NaN;
  status = 0;
  host: string | null = null;
  routeId: string | null = null;
  userId: string | null = null;
  /** Estimated size. */
  bytes = 0;
  method: string | null = null;
  path: string | null = null;
  #query: string | null = null;
  errorCode: string | null = null;
  edgeId: string | null = null;
  clientAddress = '';
  #userKind: string | null = null;
  #headers: HeaderList = NOTHING;
  #bytesIn = 0;
  #bytesOut = 0;
  #passes: readonly (string | PassedBy)[] = NOTHING;
  #waits: readonly (string | number)[] = NOTHING;
  #refusedBy: string | null = null;
  #answeredBy: string | null = null;
  #decidingRule: string | null = null;
  #target: string | null = null;
  #tunnelNode: string | null = null;
  #admittedMs = Number.NaN;
  #answeredMs = Number.NaN;

  fill(request: RecordedRequest, headers: HeaderList, passes: readonly (string | PassedBy)[]): void {
    const { host, clientAddress, admittedMs, answeredMs } = request;
    this.id = request.id;
    this.startedAtMs = request.startedAtMs;
    this.durationMs = request.durationMs;
    this.status = request.status;
    // Each request brings another string of the same characters: the one that is here has been copied already.
    if (this.host !== host) this.host = host;
    if (this.clientAddress !== clientAddress) this.clientAddress = clientAddress;
    this.routeId = request.routeId;
    this.userId = request.userId;
    this.method = request.method;
    this.path = request.path;
    this.#query = request.query;
    this.errorCode = request.errorCode;
    this.edgeId = request.edgeId;
    this.#userKind = request.userKind;
    this.#headers = headers;
    this.#bytesIn = request.bytesIn;
    this.#bytesOut = request.bytesOut;
    this.#passes = passes;
    this.#waits = request.waits;
    this.#refusedBy = request.refusedBy;
    this.#answeredBy = request.answeredBy;
    this.#decidingRule = request.decidingRule;
    this.#target = request.target;
    this.#tunnelNode = request.tunnelNode;
    this.#admittedMs = admittedMs === null ? Number.NaN : admittedMs;
    this.#answeredMs = answeredMs === null ? Number.NaN : answeredMs;
  }

  /** A copy: the slot is filled again while others still read what it held. */
  copy(): RecordedRequest {
    return {
      id: this.id,
      startedAtMs: this.startedAtMs,
      durationMs: this.durationMs,
      method: this.method,
      host: this.host,
      path: this.path,
      query: this.#query,
      status: this.status,
      errorCode: this.errorCode,
      edgeId: this.edgeId,
      routeId: this.routeId,
      clientAddress: this.clientAddress,
      userId: this.userId,
      userKind: this.#userKind,
      headers: this.#headers,
      bytesIn: this.#bytesIn,
      bytesOut: this.#bytesOut,
      passes: this.#passes,
      waits: this.#waits,
      refusedBy: this.#refusedBy,
      answeredBy: this.#answeredBy,
      decidingRule: this.#decidingRule,
      target: this.#target,
      tunnelNode: this.#tunnelNode,
      admittedMs: Number.isNaN(this.#admittedMs) ? null : this.#admittedMs,
      answeredMs: Number.isNaN(this.#answeredMs) ? null : this.#answeredMs,
    };
  }
}

type Passes = readonly (string | PassedBy)[];

/** A power of two. */
const HEADER_PLACES = 256;
const MAX_ROUTES = 1_024;
const NO_HEADERS: HeaderList = [];

/**
 * One list for many requests whose lists are the same. Most requests of a route have the same decisions, and most
 * browsers send one of a few user agents: without sharing, the history would keep a list and a text for each request.
 */
class SharedLists {
  readonly #headers: HeaderList[] = new Array<HeaderList>(HEADER_PLACES).fill(NO_HEADERS);
  readonly #passes = new Map<string, Passes>();

  headers(headers: HeaderList): HeaderList {
    const value = headers[1];
    if (value === undefined || value === '') return headers;
    const place = placeOf(value);
    const known = this.#headers[place] as HeaderList;
    if (areSame(known, headers)) return known;
    this.#headers[place] = headers;
    return headers;
  }

  passes(routeId: string | null, passes: Passes): Passes {
    if (routeId === null || passes.length === 0) return passes;
    const known = this.#passes.get(routeId);
    if (known !== undefined && areSame(known, passes)) return known;
    if (this.#passes.size >= MAX_ROUTES) this.#passes.clear();
    this.#passes.set(routeId, passes);
    return passes;
  }
}

/** From its length and three characters: a hash of all characters takes longer than the comparison that follows. */
function placeOf(text: string): number {
  const { length } = text;
  const characters = text.charCodeAt(length - 1) * 31 + text.charCodeAt(length >> 1) * 7 + text.charCodeAt(length >> 2);
  return (characters + length * 131) & (HEADER_PLACES - 1);
}

/** Identity suffices for the modules' answers: they are made once per configuration. */
function areSame(one: readonly unknown[], other: readonly unknown[]): boolean {
  let isSame = one.length === other.length;
  for (let at = 0; isSame && at < one.length; at += 1) isSame = one[at] === other[at];
  return isSame;
}

/** One slot without its texts, measured with 100,000 of them in Node 26; texts have one byte per character. */
const SLOT_BYTES = 560;
const BYTES_PER_PAIR = 16;

/**
 * The last requests, bounded by their number and by their estimated size. Slots are used again, so only copies leave
 * this file.
 */
class RequestRing {
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

  /**
   * Requests with the greatest ids, which are the newest by start: the ring is in the order in which requests finished.
   */
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

interface RequestHistoryOptions {
  /** 0: nothing is kept. */
  readonly maxRequests: number;
  readonly maxBytes?: number;
}

/** The request is the caller's: a listener that wants it later copies it. */
type RequestListener = (request: RecordedRequest) => void;

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

  /**
   * For a name that no site has. It replaces another one of these, never a request to a site, and is no part of the
   * statistics.
   */
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
