import { randomInt } from 'node:crypto';
import { ListProblem } from './list-problem.ts';

/** Differs per process: nobody can choose serial numbers that all fall into one place. */
const SEED = randomInt(2 ** 32);
const EMPTY = 0;
/** Half of the table is empty, so that honest lists need a few dozen at most. */
const MAX_PROBES = 4096;

/**
 * The serial numbers of a list, found in constant time. It holds offsets into the list's own bytes: 200,000 entries
 * take 2 MB beside them, where a Set of texts would take 20 MB.
 */
export class SerialTable {
  readonly #bytes: Buffer;
  #offsets = new Uint32Array(1024);
  #count = 0;
  #slots = new Uint32Array(0);

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get count(): number {
    return this.#count;
  }

  /** `offset` is that of an INTEGER element with a short length, and never 0. */
  add(offset: number): void {
    if (this.#count === this.#offsets.length) {
      const longer = new Uint32Array(this.#offsets.length * 2);
      longer.set(this.#offsets);
      this.#offsets = longer;
    }
    this.#offsets[this.#count] = offset;
    this.#count += 1;
  }

  /** Makes it searchable, in steps: yields after every `step` entries. */
  *build(step: number): Generator<void, void> {
    const size = 2 ** Math.ceil(Math.log2(Math.max(this.#count, 1) * 2));
    const slots = new Uint32Array(size);
    for (let at = 0; at < this.#count; at += 1) {
      if (at % step === step - 1) yield;
      const offset = this.#offsets[at] as number;
      const length = this.#bytes[offset + 1] as number;
      let slot = hashOf(this.#bytes, offset + 2, length) & (size - 1);
      for (let probes = 0; slots[slot] !== EMPTY; probes += 1) {
        // A number that is repeated would make every further one of its kind slower.
        if (this.#isSame(slots[slot] as number, offset, length)) break;
        if (probes > MAX_PROBES) throw new ListProblem('has serial numbers that were chosen to collide');
        slot = (slot + 1) & (size - 1);
      }
      slots[slot] = offset;
    }
    this.#slots = slots;
    this.#offsets = new Uint32Array(0);
  }

  #isSame(known: number, offset: number, length: number): boolean {
    const bytes = this.#bytes;
    return (
      bytes[known + 1] === length &&
      bytes.compare(bytes, known + 2, known + 2 + length, offset + 2, offset + 2 + length) === 0
    );
  }

  /** `serial` is the contents of a certificate's INTEGER, which DER encodes in one way only. */
  has(serial: Buffer): boolean {
    const mask = this.#slots.length - 1;
    let slot = hashOf(serial, 0, serial.length) & mask;
    for (;;) {
      const offset = this.#slots[slot] ?? EMPTY;
      if (offset === EMPTY) return false;
      const from = offset + 2;
      const length = this.#bytes[offset + 1] as number;
      if (length === serial.length && serial.compare(this.#bytes, from, from + length) === 0) return true;
      slot = (slot + 1) & mask;
    }
  }
}

/** FNV-1a from a random start, then mixed, because a mask uses only the low bits. */
function hashOf(bytes: Buffer, from: number, length: number): number {
  let hash = SEED;
  for (let at = from; at < from + length; at += 1) hash = Math.imul(hash ^ (bytes[at] as number), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return (hash ^ (hash >>> 12)) >>> 0;
}
