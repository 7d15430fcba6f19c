import { compareAt, newTable, wordsAt } from './address-table.ts';
import type { Words } from './address-words.ts';

const FIRST_CAPACITY = 1024;
const IPV4_WORDS = 2;
const IPV6_WORDS = 4;
/** Start and end of a range of IPv6. */
const PAIR_WORDS = 2 * IPV6_WORDS;

/** Collects ranges in any order, and makes a table of them: sorted, and without those that others contain. */
export class RangeCollector {
  #ipv4 = new Uint32Array(IPV4_WORDS * FIRST_CAPACITY);
  #ipv6 = new Uint32Array(PAIR_WORDS * FIRST_CAPACITY);
  #ipv4Count = 0;
  #ipv6Count = 0;

  get count(): number {
    return this.#ipv4Count + this.#ipv6Count;
  }

  addIpv4(start: number, end: number): void {
    const at = IPV4_WORDS * this.#ipv4Count;
    if (at === this.#ipv4.length) this.#ipv4 = doubled(this.#ipv4);
    // As one number of 64 bits, in the byte order of the machines that are supported, the start counts first.
    this.#ipv4[at] = end;
    this.#ipv4[at + 1] = start;
    this.#ipv4Count += 1;
  }

  addIpv6(start: Words, end: Words): void {
    const at = PAIR_WORDS * this.#ipv6Count;
    if (at === this.#ipv6.length) this.#ipv6 = doubled(this.#ipv6);
    this.#ipv6.set(start, at);
    this.#ipv6.set(end, at + IPV6_WORDS);
    this.#ipv6Count += 1;
  }

  table(): SharedArrayBuffer {
    const ipv4 = this.#sortedIpv4();
    const ipv6 = this.#sortedIpv6();
    const size = { ipv4: ipv4.length / IPV4_WORDS, ipv6: ipv6.length / PAIR_WORDS, hasValues: false };
    const { memory, parts } = newTable(size);
    for (let at = 0; at < size.ipv4; at += 1) {
      parts.ipv4Starts[at] = ipv4[IPV4_WORDS * at + 1] as number;
      parts.ipv4Ends[at] = ipv4[IPV4_WORDS * at] as number;
    }
    for (let at = 0; at < size.ipv6; at += 1) {
      const from = PAIR_WORDS * at;
      parts.ipv6Starts.set(ipv6.subarray(from, from + IPV6_WORDS), IPV6_WORDS * at);
      parts.ipv6Ends.set(ipv6.subarray(from + IPV6_WORDS, from + PAIR_WORDS), IPV6_WORDS * at);
    }
    return memory;
  }

  /** Pairs of end and start. Ranges that only touch stay apart: an explanation names the entry. */
  #sortedIpv4(): Uint32Array {
    const pairs = this.#ipv4.subarray(0, IPV4_WORDS * this.#ipv4Count);
    new BigUint64Array(pairs.buffer, 0, this.#ipv4Count).sort();
    let last = -IPV4_WORDS;
    for (let at = 0; at < pairs.length; at += IPV4_WORDS) {
      const [end, start] = [pairs[at] as number, pairs[at + 1] as number];
      if (last >= 0 && start <= (pairs[last] as number)) {
        if (end > (pairs[last] as number)) pairs[last] = end;
        continue;
      }
      last += IPV4_WORDS;
      pairs[last] = end;
      pairs[last + 1] = start;
    }
    return pairs.subarray(0, last + IPV4_WORDS);
  }

  #sortedIpv6(): Uint32Array {
    const all = this.#ipv6;
    const order = Uint32Array.from({ length: this.#ipv6Count }, (_, index) => PAIR_WORDS * index);
    order.sort((a, b) => compareAt(all, a, wordsAt(all, b)));
    const sorted = new Uint32Array(PAIR_WORDS * this.#ipv6Count);
    let last = -PAIR_WORDS;
    for (const at of order) {
      const start = wordsAt(all, at);
      const end = wordsAt(all, at + IPV6_WORDS);
      if (last >= 0 && compareAt(sorted, last + IPV6_WORDS, start) >= 0) {
        if (compareAt(sorted, last + IPV6_WORDS, end) < 0) sorted.set(end, last + IPV6_WORDS);
        continue;
      }
      last += PAIR_WORDS;
      sorted.set(start, last);
      sorted.set(end, last + IPV6_WORDS);
    }
    return sorted.subarray(0, last + PAIR_WORDS);
  }
}

function doubled(array: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(2 * array.length);
  larger.set(array);
  return larger;
}
