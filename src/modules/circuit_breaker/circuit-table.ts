import { ThreadLock } from '../../kit/process/shared-memory.ts';
import { CIRCUIT_FIELDS, Circuit } from './circuit.ts';
import { type CircuitBreakerConfig, type CircuitLimits, digestOf, limitsOf } from './circuit-breaker-config.ts';

/** More routes with a circuit than a node is likely to have. Memory that no route uses is never touched. */
const SLOTS = 4_096;
const TABLE_LOCK = 0;
const FIRST_WORD = 2;
/** Words of a slot: its lock, whether the circuit is open, and how often the slot was given away. */
const WORDS = 4;
const LOCK = 0;
const IS_OPEN = 1;
const USES = 2;
/** Numbers of a slot before those of its circuit. */
const KEY = 0;
const DIGEST = 1;
const FIELDS = 2 + CIRCUIT_FIELDS;
const NEVER_USED = 0;
const FREED = -1;
const SLOT_BYTES = WORDS * Int32Array.BYTES_PER_ELEMENT + FIELDS * Float64Array.BYTES_PER_ELEMENT;

/** A circuit of a route, as long as the slot is its own. */
export interface Slot {
  readonly index: number;
  readonly uses: number;
  readonly fields: Float64Array;
}

/**
 * The circuits of all routes of the node, in memory that its threads share: a slot for each route that has had a
 * request. Claims, and changes of a slot, happen under a lock; whether a circuit is open can be read without.
 */
export class CircuitTable {
  readonly #words: Int32Array;
  readonly #numbers: Float64Array;
  readonly #lock: ThreadLock;
  readonly #thread: number;
  readonly #slots: number;

  constructor(memory: SharedArrayBuffer, thread: number) {
    this.#words = wordsIn(memory);
    this.#numbers = new Float64Array(memory, this.#words.byteLength);
    this.#slots = slotsIn(memory);
    this.#lock = new ThreadLock(this.#words, TABLE_LOCK, thread);
    this.#thread = thread;
  }

  static memory(slots = SLOTS): SharedArrayBuffer {
    return new SharedArrayBuffer(FIRST_WORD * Int32Array.BYTES_PER_ELEMENT + slots * SLOT_BYTES);
  }

  static threadEnded(memory: SharedArrayBuffer, thread: number): void {
    const words = wordsIn(memory);
    ThreadLock.release(words, TABLE_LOCK, thread);
    for (let index = 0; index < slotsIn(memory); index += 1) ThreadLock.release(words, wordsOf(index) + LOCK, thread);
  }

  /** The slot of a route, with a closed circuit if it has none. Null: all are taken. */
  claim(routeId: string, digest: number): Slot | null {
    const key = digestOf(routeId);
    this.#lock.enter();
    try {
      const found = this.#search(key);
      const index = found.own ?? found.free;
      if (index === null) return null;
      if (found.own === null) {
        Atomics.add(this.#words, wordsOf(index) + USES, 1);
        Atomics.store(this.#words, wordsOf(index) + IS_OPEN, 0);
        Circuit.clear(this.#fieldsOf(index), 0);
        this.#numbers[index * FIELDS + DIGEST] = digest;
        this.#numbers[index * FIELDS + KEY] = key;
      }
      return this.#slot(index);
    } finally {
      this.#lock.leave();
    }
  }

  /** The slot of a route; null: nobody has claimed one for this configuration. Changes nothing. */
  find(routeId: string, digest: number): Slot | null {
    const { own } = this.#search(digestOf(routeId));
    return own === null || this.#numbers[own * FIELDS + DIGEST] !== digest ? null : this.#slot(own);
  }

  isOpen({ index, uses }: Slot): boolean {
    const at = wordsOf(index);
    return Atomics.load(this.#words, at + IS_OPEN) === 1 && Atomics.load(this.#words, at + USES) === uses;
  }

  setOpen({ index }: Slot, isOpen: boolean): void {
    Atomics.store(this.#words, wordsOf(index) + IS_OPEN, Number(isOpen));
  }

  digestOf({ index }: Slot): number {
    return this.#numbers[index * FIELDS + DIGEST] ?? 0;
  }

  setDigest({ index }: Slot, digest: number): void {
    this.#numbers[index * FIELDS + DIGEST] = digest;
  }

  /** Runs a change of a slot while no other thread changes it; null: the slot is another route's now. */
  change<Result>(slot: Slot, task: () => Result): Result | null {
    const at = wordsOf(slot.index);
    const lock = new ThreadLock(this.#words, at + LOCK, this.#thread);
    lock.enter();
    try {
      return Atomics.load(this.#words, at + USES) === slot.uses ? task() : null;
    } finally {
      lock.leave();
    }
  }

  /** The route no longer has a circuit. */
  free(slot: Slot): void {
    this.#lock.enter();
    try {
      this.change(slot, () => {
        this.#numbers[slot.index * FIELDS + KEY] = FREED;
        Atomics.add(this.#words, wordsOf(slot.index) + USES, 1);
        this.setOpen(slot, false);
      });
    } finally {
      this.#lock.leave();
    }
  }

  #search(key: number): { readonly own: number | null; readonly free: number | null } {
    let free: number | null = null;
    for (let tried = 0; tried < this.#slots; tried += 1) {
      const index = (key + tried) % this.#slots;
      const seen = this.#numbers[index * FIELDS + KEY];
      if (seen === key) return { own: index, free };
      if (seen === NEVER_USED || seen === FREED) free ??= index;
      if (seen === NEVER_USED) break;
    }
    return { own: null, free };
  }

  #slot(index: number): Slot {
    return { index, uses: Atomics.load(this.#words, wordsOf(index) + USES), fields: this.#fieldsOf(index) };
  }

  #fieldsOf(index: number): Float64Array {
    const start = index * FIELDS + DIGEST + 1;
    return this.#numbers.subarray(start, start + CIRCUIT_FIELDS);
  }
}

function slotsIn(memory: SharedArrayBuffer): number {
  return (memory.byteLength - FIRST_WORD * Int32Array.BYTES_PER_ELEMENT) / SLOT_BYTES;
}

function wordsIn(memory: SharedArrayBuffer): Int32Array {
  return new Int32Array(memory, 0, FIRST_WORD + slotsIn(memory) * WORDS);
}

function wordsOf(index: number): number {
  return FIRST_WORD + index * WORDS;
}

type CircuitState = 'closed' | 'open' | 'half_open';

/** A reader belongs to no thread that changes anything. */
const READER = -1;

/**
 * What a request of a client to a route would get now, for those who only look: pass, be a probe, or come back after so
 * many milliseconds.
 */
export function nextOf(
  memory: SharedArrayBuffer,
  routeId: string,
  limits: CircuitLimits,
  nowMs: number,
  client: number | null,
): { readonly next: 'pass' | 'probe' | number /** 0 if it is closed. */; readonly openedAtMs: number } {
  const table = new CircuitTable(memory, READER);
  const slot = table.find(routeId, limits.digest);
  if (slot === null || !table.isOpen(slot)) return { next: 'pass', openedAtMs: 0 };
  return { next: Circuit.next(slot.fields, limits, nowMs, client), openedAtMs: Circuit.openedAtMs(slot.fields) };
}

/** While its time runs, an open circuit refuses everything; afterwards it is half-open until a probe was served. */
export function circuitStateOf(
  memory: SharedArrayBuffer | null,
  routeId: string,
  config: CircuitBreakerConfig,
  nowMs: number,
): { readonly state: CircuitState; readonly openedAtMs: number } {
  if (memory === null || !config.enabled) return { state: 'closed', openedAtMs: 0 };
  const { next, openedAtMs } = nextOf(memory, routeId, limitsOf(config), nowMs, null);
  if (next === 'pass') return { state: 'closed', openedAtMs };
  return { state: next === 'probe' || next === 0 ? 'half_open' : 'open', openedAtMs };
}
