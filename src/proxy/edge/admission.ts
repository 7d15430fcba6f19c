import { ownerOf } from '../../kit/net/shared-places.ts';
import type { SharedTally } from '../../kit/process/shared-memory.ts';

/**
 * An address may hold this many even of a small budget: browsers open dozens of requests at once, and offices share an
 * address.
 */
const LEAST_SHARE = 64;

interface SharedBudgetOptions {
  /** 0: no limit. */
  readonly max: number;
  /** Share that one address may hold while the budget is scarce. */
  readonly sharePercent: number;
  /** Addresses of all current holders, once per place. */
  readonly holders: () => Iterable<string>;
  /** The places of all threads together, which count by address all the time. Null: there is one thread. */
  readonly threads?: SharedTally | null;
}

/**
 * A number of places shared by all clients. The budget is scarce from half of it on; then an address that holds its
 * share gets no further place, so that the rest is left to others. An IPv6 /64 counts as one address.
 *
 * Addresses are counted only while the budget is scarce: far from the limit a request costs an addition. Counting ends
 * at a quarter, so that recounting all holders, when it starts again, is amortized over as many changes.
 */
export class SharedBudget {
  readonly #max: number;
  readonly #scarceAt: number;
  readonly #share: number;
  readonly #holders: () => Iterable<string>;
  readonly #threads: SharedTally | null;
  #held = 0;
  #byAddress: Map<string, number> | null = null;

  constructor({ max, sharePercent, holders, threads = null }: SharedBudgetOptions) {
    this.#max = max;
    this.#scarceAt = max === 0 || sharePercent >= 100 ? Number.POSITIVE_INFINITY : Math.ceil(max / 2);
    this.#share = Math.max(LEAST_SHARE, Math.floor((max * sharePercent) / 100));
    this.#holders = holders;
    this.#threads = threads;
  }

  get held(): number {
    return this.#held;
  }

  /** Places held in all threads. */
  get #heldByAll(): number {
    return this.#threads?.total ?? this.#held;
  }

  get isScarce(): boolean {
    return this.#heldByAll >= this.#scarceAt;
  }

  /** For passes that every thread makes at its own times: held now, or at the last pass of any of them. */
  isUsedInPass(part: number, everyMs: number): boolean {
    const threads = this.#threads;
    if (threads === null) return this.isUsed(part);
    if (this.isUsed(part)) threads.mark();
    return threads.wasMarkedWithin(everyMs);
  }

  /** Whether this part is held; 1 means all of it. */
  isUsed(part: number): boolean {
    return this.#max > 0 && this.#heldByAll >= Math.ceil(this.#max * part);
  }

  /** Only while scarce: whether the address already holds its share. */
  isShareUsed(address: string): boolean {
    const held = this.#threads?.of(ownerOf(address)) ?? this.#byAddress?.get(ownerOf(address)) ?? 0;
    return held >= this.#share;
  }

  /** The new holder is already one of `holders`. */
  enter(address: string): void {
    this.#held += 1;
    if (this.#threads !== null) this.#threads.enter(ownerOf(address));
    else if (this.#byAddress !== null) count(this.#byAddress, address, 1);
    else if (this.isScarce) this.#byAddress = counted(this.#holders());
  }

  leave(address: string): void {
    this.#held -= 1;
    this.#threads?.leave(ownerOf(address));
    if (this.#byAddress === null) return;
    if (this.#held < this.#scarceAt / 2) this.#byAddress = null;
    else count(this.#byAddress, address, -1);
  }
}

function counted(addresses: Iterable<string>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const address of addresses) count(counts, address, 1);
  return counts;
}

function count(counts: Map<string, number>, address: string, by: 1 | -1): void {
  const owner = ownerOf(address);
  const now = (counts.get(owner) ?? 0) + by;
  if (now > 0) counts.set(owner, now);
  else counts.delete(owner);
}

/** Concurrency limits of one process. 0: no limit. */
export interface AdmissionLimits {
  /** Requests whose response has not started. */
  readonly maxRequests: number;
  /** Responses in progress, and WebSockets. */
  readonly maxStreams: number;
  /** Share of either that one client address may hold once half of it is in use. 100: all. */
  readonly addressSharePercent: number;
  /** Minimum rate of request bodies while half of the requests are in use. 0: none. */
  readonly minBodyBytesPerSecond: number;
}

/** The limit that rejected a request, as named in metrics. */
export type AdmissionLimit = 'requests' | 'streams' | 'bodies' | 'address_requests' | 'address_streams';

/** The setting behind each limit. */
export const SETTING_OF_LIMIT: Readonly<Record<AdmissionLimit, string>> = {
  requests: 'edge_requests_in_flight',
  streams: 'edge_streams_in_flight',
  bodies: 'edge_requests_in_flight',
  address_requests: 'edge_address_share',
  address_streams: 'edge_address_share',
};

/** An exchange as the admission sees it. */
interface Admitted {
  readonly clientAddress: string;
  readonly isAnswering: boolean;
}

/** Requests with a body leave the rest to those without: slow senders cannot hold everything. */
const PART_FOR_BODIES = 3 / 4;

/**
 * Bounds the work of one process, so that a flood does not affect the API, the agents' heartbeats and memory (50,000
 * concurrent requests took 993 MiB, and an API read 5 s). Requests and streams count separately: a thousand idle
 * WebSockets do not use up room for requests. No client address can exhaust either for all others.
 */
export class Admission {
  readonly #requests: SharedBudget;
  readonly #streams: SharedBudget;

  /** `admitted`: everything that has started and not ended. */
  constructor(limits: AdmissionLimits, admitted: () => Iterable<Admitted>, threads: Partial<EdgeTallies> = {}) {
    const { addressSharePercent: sharePercent } = limits;
    this.#requests = new SharedBudget({
      max: limits.maxRequests,
      sharePercent,
      holders: () => addressesOf(admitted(), false),
      threads: threads.requests ?? null,
    });
    this.#streams = new SharedBudget({
      max: limits.maxStreams,
      sharePercent,
      holders: () => addressesOf(admitted(), true),
      threads: threads.streams ?? null,
    });
  }

  get requests(): number {
    return this.#requests.held;
  }

  get streams(): number {
    return this.#streams.held;
  }

  /** Half of the requests are in use, or were when another thread looked: these looks are `everyMs` apart. */
  areRequestsScarce(everyMs: number): boolean {
    return this.#requests.isUsedInPass(1 / 2, everyMs);
  }

  /** The limit that rejects another request; null: it is admitted. The address is computed only when it matters. */
  exceeded(hasBody: boolean, clientAddress: () => string): AdmissionLimit | null {
    if (this.#requests.isUsed(1)) return 'requests';
    if (this.#streams.isUsed(1)) return 'streams';
    if (hasBody && this.#requests.isUsed(PART_FOR_BODIES)) return 'bodies';
    if (!this.#requests.isScarce && !this.#streams.isScarce) return null;
    const address = clientAddress();
    if (this.#requests.isScarce && this.#requests.isShareUsed(address)) return 'address_requests';
    return this.#streams.isScarce && this.#streams.isShareUsed(address) ? 'address_streams' : null;
  }

  /** The exchange is already among the admitted. */
  begin({ clientAddress }: Admitted): void {
    this.#requests.enter(clientAddress);
  }

  /** The response of a request starts. */
  answer({ clientAddress }: Admitted): void {
    this.#requests.leave(clientAddress);
    this.#streams.enter(clientAddress);
  }

  end({ clientAddress, isAnswering }: Admitted): void {
    (isAnswering ? this.#streams : this.#requests).leave(clientAddress);
  }
}

function* addressesOf(admitted: Iterable<Admitted>, isAnswering: boolean): Iterable<string> {
  for (const one of admitted) if (one.isAnswering === isAnswering) yield one.clientAddress;
}

/** What the limits count, of all threads that serve visitors. */
export interface EdgeTallies {
  readonly requests: SharedTally;
  readonly streams: SharedTally;
  readonly connections: SharedTally;
  readonly handshakes: SharedTally;
  readonly plainConnections: SharedTally;
}

/** An address may have this many, however few are free. */
const LEAST_OF_ADDRESS = 8;

/**
 * Counts what clients currently hold, in total and per address. A limit of 0 means none. With a limit per address, an
 * address gets another one only while it holds fewer than are `free`.
 */
export class AddressCounter {
  readonly #maxTotal: number;
  readonly #maxPerAddress: number;
  readonly #counts = new Map<string, number>();
  readonly #threads: SharedTally | null;
  readonly #free: () => number;
  #total = 0;

  /** `threads`: the limits are those of all threads together. */
  constructor(
    limits: { readonly maxTotal: number; readonly maxPerAddress: number },
    threads: SharedTally | null = null,
    free: () => number = unlimited,
  ) {
    this.#free = free;
    this.#maxTotal = limits.maxTotal;
    this.#maxPerAddress = limits.maxPerAddress;
    this.#threads = threads;
  }

  get total(): number {
    return this.#total;
  }

  get addressCount(): number {
    return this.#counts.size;
  }

  /** Counts one more, or returns the exceeded limit. Each `null` must be followed by one `leave`. */
  enter(address: string): 'total' | 'address' | null {
    const threads = this.#threads;
    if (this.#maxTotal > 0 && (threads?.total ?? this.#total) >= this.#maxTotal) return 'total';
    const key = ownerOf(address);
    const count = this.#counts.get(key) ?? 0;
    if (this.#maxPerAddress > 0) {
      const most = Math.min(this.#maxPerAddress, Math.max(LEAST_OF_ADDRESS, this.#free()));
      if ((threads?.of(key) ?? count) >= most) return 'address';
    }
    threads?.enter(key);
    this.#counts.set(key, count + 1);
    this.#total += 1;
    return null;
  }

  leave(address: string): void {
    const key = ownerOf(address);
    const count = this.#counts.get(key) ?? 0;
    if (count <= 1) this.#counts.delete(key);
    else this.#counts.set(key, count - 1);
    this.#total -= 1;
    this.#threads?.leave(key);
  }
}

function unlimited(): number {
  return Number.POSITIVE_INFINITY;
}
