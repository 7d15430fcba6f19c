import { randomBytes } from 'node:crypto';
import { ThreadLock, threadsNowMs } from '../../kit/process/shared-memory.ts';
import { keyedHash } from '../../kit/text/keyed-hash.ts';
import type { NodeMemory } from '../contract/keeps-state.ts';

/** Entries of a group. Each key belongs to one group, and has one of its entries. */
const WAYS = 8;
/** The words of an entry: which key it is, when all of its limit is there again, and when half of it is. */
const TAG = 0;
const FULL_AT = 1;
const HALF_AT = 2;
const ENTRY = 3;
const EMPTY = 0;
const NONE = -1;

const LOCK = 0;
const HASH_KEY = 1;
const HASH_KEY_WORDS = 2;
const FIRST_ENTRY = 2;
/** After the entries, buckets for keys without one: which limit each belongs to, and when it is full again. */
const SHARED = WAYS * ENTRY;
const SHARED_WAYS = 4;
const OWNER = 0;
const SHARED_FULL_AT = 1;
const SHARED_ENTRY = 2;
const GROUP = SHARED + SHARED_WAYS * SHARED_ENTRY;

/** Sums of intervals are not exact. */
const TOLERANCE_MS = 1e-4;
/** Limits of one module. */
export const MAX_LIMITS = 5;

/** A limit as the table counts it: `spanMs` / `intervalMs` requests at once, then one each `intervalMs`. */
export interface Rate {
  /** Made with `hashKeyOf`. */
  readonly hashKey: Int32Array;
  readonly intervalMs: number;
  readonly spanMs: number;
}

/** The limit that refuses, by its position, and how long it does so. */
export interface Exceeded {
  readonly at: number;
  readonly waitMs: number;
}

/** What happens when a group is full: an entry that was hardly used gives way, or the key shares one with others. */
export type FullGroup = 'forgotten' | 'shared';

/**
 * What is left of limits, by key, in memory that all threads of the node share (decision 83). The algorithm is GCRA: an
 * entry holds when its bucket will be full again, which is all that there is to know.
 *
 * Memory is bounded. A new key takes an empty entry of its group, or one whose bucket is full again, or that of the key
 * which has used least, if that is less than half. So a flood of keys never resets one that is near its limit. If there
 * is no such entry, the key shares one bucket with all others of its group and limit that have none. A group has such
 * buckets for a few limits; another limit takes the one that is full first.
 *
 * One lock protects all, for about a microsecond. The main thread reads without it: see ThreadLock.
 */
export class LimitTable {
  readonly #words: Float64Array;
  readonly #lock: ThreadLock;
  readonly #hashKey: Int32Array;
  readonly #groups: number;
  readonly #onFull: (what: FullGroup) => void;
  readonly #nowMs: () => number;
  readonly #hash = new Int32Array(2);
  /** Groups and tags of the keys that are asked for. */
  readonly #groupOf = new Int32Array(MAX_LIMITS);
  readonly #tagOf = new Float64Array(MAX_LIMITS);

  constructor({ memory, thread }: NodeMemory, onFull: (what: FullGroup) => void, nowMs: () => number = threadsNowMs) {
    const header = new Int32Array(memory, 0, HASH_KEY + HASH_KEY_WORDS);
    this.#words = new Float64Array(memory);
    this.#lock = new ThreadLock(header, LOCK, thread);
    this.#hashKey = header.slice(HASH_KEY);
    this.#groups = (this.#words.length - FIRST_ENTRY) / GROUP;
    this.#onFull = onFull;
    this.#nowMs = nowMs;
  }

  /** For at least so many keys. */
  static memory(keys: number): SharedArrayBuffer {
    const groups = 2 ** Math.ceil(Math.log2(Math.max(1, keys / WAYS)));
    const words = FIRST_ENTRY + groups * GROUP;
    const memory = new SharedArrayBuffer(words * Float64Array.BYTES_PER_ELEMENT);
    const at = HASH_KEY * Int32Array.BYTES_PER_ELEMENT;
    new Uint8Array(memory).set(randomBytes(HASH_KEY_WORDS * Int32Array.BYTES_PER_ELEMENT), at);
    return memory;
  }

  /** The thread has ended. */
  static threadEnded(memory: SharedArrayBuffer, thread: number): void {
    ThreadLock.release(new Int32Array(memory, 0, 1), LOCK, thread);
  }

  /** Keys of different limits have nothing to do with each other. */
  hashKeyOf(limit: string): Int32Array {
    const key = new Int32Array(2);
    keyedHash(this.#hashKey, limit, key);
    return key;
  }

  /** Takes one from each of the limits, or from none if one of them is used up. */
  spend(rates: readonly Rate[], keys: readonly string[]): Exceeded | null {
    for (let at = 0; at < rates.length; at += 1) this.#find(rates[at] as Rate, keys[at] as string, at);
    const nowMs = this.#nowMs();
    this.#lock.enter();
    try {
      const exceeded = this.#exceeded(rates, nowMs);
      if (exceeded === null) for (let at = 0; at < rates.length; at += 1) this.#take(rates[at] as Rate, at, nowMs);
      return exceeded;
    } finally {
      this.#lock.leave();
    }
  }

  /** How many requests would pass now, and how many milliseconds later the next one, without taking any. */
  look(rate: Rate, key: string): { readonly left: number; readonly waitMs: number } {
    this.#find(rate, key, 0);
    const nowMs = this.#nowMs();
    const usedMs = usedAfter(rate, this.#fullAt(rate, 0, nowMs), nowMs);
    const left = Math.floor((rate.spanMs - usedMs + TOLERANCE_MS) / rate.intervalMs) + 1;
    return { left: Math.max(0, left), waitMs: Math.max(0, usedMs - rate.spanMs) };
  }

  #exceeded(rates: readonly Rate[], nowMs: number): Exceeded | null {
    let exceeded: Exceeded | null = null;
    for (let at = 0; at < rates.length; at += 1) {
      const rate = rates[at] as Rate;
      const waitMs = usedAfter(rate, this.#fullAt(rate, at, nowMs), nowMs) - rate.spanMs;
      if (waitMs > TOLERANCE_MS && waitMs > (exceeded?.waitMs ?? 0)) exceeded = { at, waitMs };
    }
    return exceeded;
  }

  #find(rate: Rate, key: string, at: number): void {
    const hash = this.#hash;
    keyedHash(rate.hashKey, key, hash);
    const [low, high] = [hash[0] as number, hash[1] as number];
    this.#groupOf[at] = low & (this.#groups - 1);
    // 52 bits, and not that of an empty entry.
    this.#tagOf[at] = (high >>> 0) * 2 ** 20 + (low >>> 12) + 1;
  }

  #fullAt(rate: Rate, at: number, nowMs: number): number {
    const entry = this.#entryOf(at);
    if (entry !== NONE) return this.#words[entry + FULL_AT] as number;
    return this.#freeEntry(at, nowMs) === NONE ? this.#sharedFullAt(rate, at) : nowMs;
  }

  /** Another limit, maybe of another site, is no reason to refuse. */
  #sharedFullAt(rate: Rate, at: number): number {
    const shared = this.#sharedOf(rate, at);
    return this.#words[shared + OWNER] === rate.hashKey[0] ? (this.#words[shared + SHARED_FULL_AT] as number) : 0;
  }

  /** The bucket of the limit, or the one that it would take. */
  #sharedOf({ hashKey }: Rate, at: number): number {
    const words = this.#words;
    const first = this.#firstOf(at) + SHARED;
    let soonest = first;
    for (let shared = first; shared < first + SHARED_WAYS * SHARED_ENTRY; shared += SHARED_ENTRY) {
      if (words[shared + OWNER] === hashKey[0]) return shared;
      if ((words[shared + SHARED_FULL_AT] as number) < (words[soonest + SHARED_FULL_AT] as number)) soonest = shared;
    }
    return soonest;
  }

  #take(rate: Rate, at: number, nowMs: number): void {
    const words = this.#words;
    const own = this.#entryOf(at);
    const entry = own === NONE ? this.#freeEntry(at, nowMs) : own;
    if (entry === NONE) {
      const shared = this.#sharedOf(rate, at);
      words[shared + SHARED_FULL_AT] = nowMs + usedAfter(rate, this.#sharedFullAt(rate, at), nowMs);
      words[shared + OWNER] = rate.hashKey[0] as number;
      this.#onFull('shared');
      return;
    }
    if (own === NONE) {
      if (words[entry + TAG] !== EMPTY && (words[entry + FULL_AT] as number) > nowMs) this.#onFull('forgotten');
      // In this order: a thread that is ended here leaves an empty entry.
      words[entry + TAG] = EMPTY;
      words[entry + FULL_AT] = nowMs;
    }
    const fullAt = nowMs + usedAfter(rate, words[entry + FULL_AT] as number, nowMs);
    words[entry + FULL_AT] = fullAt;
    words[entry + HALF_AT] = fullAt - rate.spanMs / 2;
    words[entry + TAG] = this.#tagOf[at] as number;
  }

  #firstOf(at: number): number {
    return FIRST_ENTRY + (this.#groupOf[at] as number) * GROUP;
  }

  /** The entry of the key itself. */
  #entryOf(at: number): number {
    const first = this.#firstOf(at);
    const tag = this.#tagOf[at] as number;
    for (let entry = first; entry < first + WAYS * ENTRY; entry += ENTRY)
      if (this.#words[entry + TAG] === tag) return entry;
    return NONE;
  }

  /** An entry of the group that the key may take. */
  #freeEntry(at: number, nowMs: number): number {
    const words = this.#words;
    const first = this.#firstOf(at);
    let least = NONE;
    let leastHalfAt = nowMs;
    for (let entry = first; entry < first + WAYS * ENTRY; entry += ENTRY) {
      if (words[entry + TAG] === EMPTY || (words[entry + FULL_AT] as number) <= nowMs) return entry;
      const halfAt = words[entry + HALF_AT] as number;
      if (halfAt <= leastHalfAt) {
        least = entry;
        leastHalfAt = halfAt;
      }
    }
    return least;
  }
}

/** How much of the span is used with one more request. More than all of it: the request is too early. */
function usedAfter({ intervalMs, spanMs }: Rate, fullAt: number, nowMs: number): number {
  return Math.min(Math.max(0, fullAt - nowMs), spanMs) + intervalMs;
}
