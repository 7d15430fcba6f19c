import ipaddr from 'ipaddr.js';
import { type AddressWords, maskOf, type Words } from './address-words.ts';

/** Marks the layout below. Another one gets another number, so that a table of another version is never read. */
const LAYOUT = 0x504c_5431;
const HEADER_WORDS = 4;
const IPV6_WORDS = 4;
const WORD_BYTES = 4;
const WORD_BITS = 32;

export interface TableSize {
  readonly ipv4: number;
  readonly ipv6: number;
  /** Whether each range has a number, such as one that stands for a country. */
  readonly hasValues: boolean;
}

/** The parts of a table, as views of its memory. Ranges are sorted and do not overlap. */
export interface TableParts {
  readonly ipv4Starts: Uint32Array;
  readonly ipv4Ends: Uint32Array;
  /** Four words for each address. */
  readonly ipv6Starts: Uint32Array;
  readonly ipv6Ends: Uint32Array;
  /** Those for IPv4 ranges come before those for IPv6 ranges; empty without values. */
  readonly values: Uint16Array;
}

/** New memory for a table of this size, for its maker to fill. Threads share it. */
export function newTable(size: TableSize): { readonly memory: SharedArrayBuffer; readonly parts: TableParts } {
  const memory = new SharedArrayBuffer(bytesOf(size));
  new Uint32Array(memory, 0, HEADER_WORDS).set([LAYOUT, size.ipv4, size.ipv6, size.hasValues ? 1 : 0]);
  return { memory, parts: partsOf(memory, size) };
}

/** Whether the bytes have the layout of a table. The order of its ranges is not checked. */
export function isTable(memory: SharedArrayBuffer): boolean {
  if (memory.byteLength < HEADER_WORDS * WORD_BYTES) return false;
  const [layout, ipv4 = 0, ipv6 = 0, values = 0] = new Uint32Array(memory, 0, HEADER_WORDS);
  return layout === LAYOUT && values <= 1 && memory.byteLength === bytesOf({ ipv4, ipv6, hasValues: values === 1 });
}

/** Ranges of addresses that are searched in a microsecond: 8 bytes for each of IPv4, 32 for each of IPv6. */
export class AddressTable {
  readonly #parts: TableParts;
  readonly #ipv4Count: number;
  readonly #ipv6Count: number;

  /** `memory` must be a table. */
  constructor(memory: SharedArrayBuffer) {
    const [, ipv4 = 0, ipv6 = 0, values = 0] = new Uint32Array(memory, 0, HEADER_WORDS);
    this.#ipv4Count = ipv4;
    this.#ipv6Count = ipv6;
    this.#parts = partsOf(memory, { ipv4, ipv6, hasValues: values === 1 });
  }

  get count(): number {
    return this.#ipv4Count + this.#ipv6Count;
  }

  /** Position of the range that contains the address; -1: none does. Like rules, ranges of IPv6 contain no IPv4 address. */
  find(address: AddressWords): number {
    if (typeof address === 'number') return this.#findIpv4(address);
    const found = this.#findIpv6(address);
    return found === -1 ? -1 : this.#ipv4Count + found;
  }

  valueAt(position: number): number {
    return this.#parts.values[position] ?? 0;
  }

  /** The range for people: `203.0.113.0/24`, or `203.0.113.7-203.0.113.9`. */
  textAt(position: number): string {
    const { ipv4Starts, ipv4Ends, ipv6Starts, ipv6Ends } = this.#parts;
    if (position < this.#ipv4Count) return rangeText(word(ipv4Starts, position), word(ipv4Ends, position));
    const at = IPV6_WORDS * (position - this.#ipv4Count);
    return rangeText(wordsAt(ipv6Starts, at), wordsAt(ipv6Ends, at));
  }

  #findIpv4(value: number): number {
    const { ipv4Starts, ipv4Ends } = this.#parts;
    let low = 0;
    let high = this.#ipv4Count - 1;
    while (low <= high) {
      const middle = (low + high) >>> 1;
      if ((ipv4Starts[middle] as number) <= value) low = middle + 1;
      else high = middle - 1;
    }
    return high >= 0 && (ipv4Ends[high] as number) >= value ? high : -1;
  }

  #findIpv6(words: Words): number {
    const { ipv6Starts, ipv6Ends } = this.#parts;
    let low = 0;
    let high = this.#ipv6Count - 1;
    while (low <= high) {
      const middle = (low + high) >>> 1;
      if (compareAt(ipv6Starts, IPV6_WORDS * middle, words) <= 0) low = middle + 1;
      else high = middle - 1;
    }
    return high >= 0 && compareAt(ipv6Ends, IPV6_WORDS * high, words) >= 0 ? high : -1;
  }
}

/** Compares the address that starts at a word with another one. */
export function compareAt(array: Uint32Array, at: number, words: Words): number {
  for (let offset = 0; offset < IPV6_WORDS; offset += 1) {
    const difference = (array[at + offset] as number) - (words[offset] as number);
    if (difference !== 0) return difference;
  }
  return 0;
}

export function wordsAt(array: Uint32Array, at: number): Words {
  return [word(array, at), word(array, at + 1), word(array, at + 2), word(array, at + 3)];
}

function word(array: ArrayLike<number>, at: number): number {
  return array[at] ?? 0;
}

function bytesOf({ ipv4, ipv6, hasValues }: TableSize): number {
  const words = HEADER_WORDS + 2 * ipv4 + 2 * IPV6_WORDS * ipv6;
  return words * WORD_BYTES + (hasValues ? Uint16Array.BYTES_PER_ELEMENT * (ipv4 + ipv6) : 0);
}

function partsOf(memory: SharedArrayBuffer, { ipv4, ipv6, hasValues }: TableSize): TableParts {
  let at = HEADER_WORDS * WORD_BYTES;
  const words = (count: number): Uint32Array => {
    const part = new Uint32Array(memory, at, count);
    at += count * WORD_BYTES;
    return part;
  };
  return {
    ipv4Starts: words(ipv4),
    ipv4Ends: words(ipv4),
    ipv6Starts: words(IPV6_WORDS * ipv6),
    ipv6Ends: words(IPV6_WORDS * ipv6),
    values: new Uint16Array(memory, at, hasValues ? ipv4 + ipv6 : 0),
  };
}

function rangeText(start: AddressWords, end: AddressWords): string {
  const prefix = typeof start === 'number' ? prefixOf([start], [end as number]) : prefixOf(start, end as Words);
  const from = addressText(start);
  if (prefix === null) return `${from}-${addressText(end)}`;
  return prefix === (typeof start === 'number' ? WORD_BITS : IPV6_WORDS * WORD_BITS) ? from : `${from}/${prefix}`;
}

/** Length of the prefix if the addresses are exactly those of one: behind it are all zeros, and all ones. */
function prefixOf(start: readonly number[], end: readonly number[]): number | null {
  const first = start.findIndex((word, at) => word !== end[at]);
  if (first === -1) return WORD_BITS * start.length;
  const bits = Math.clz32((word(start, first) ^ word(end, first)) >>> 0);
  const isPrefix = start.every((each, at) => {
    if (at < first) return true;
    const rest = at > first ? 0xffff_ffff : ~maskOf(bits) >>> 0;
    return (each & rest) === 0 && (word(end, at) & rest) >>> 0 === rest;
  });
  return isPrefix ? WORD_BITS * first + bits : null;
}

function addressText(address: AddressWords): string {
  if (typeof address === 'number') return [24, 16, 8, 0].map((shift) => (address >>> shift) & 0xff).join('.');
  return new ipaddr.IPv6(address.flatMap((each) => [each >>> 16, each & 0xffff])).toString();
}
