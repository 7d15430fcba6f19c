import { isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';
import { parseAddress } from './cidr.ts';

/** An IPv6 address, highest word first. */
export type Words = readonly [number, number, number, number];

/** An address as a table has it: one unsigned word for IPv4, four for IPv6. */
export type AddressWords = number | Words;

/** Like `parseAddress`, a tenth of its time: it is called for every request. Null when invalid. */
export function addressWords(text: string): AddressWords | null {
  const ipv4 = ipv4In(text);
  if (ipv4 !== -1) return ipv4;
  if (isIPv6(text) && !text.includes('.') && !text.includes('%')) return plainIpv6In(text);
  const address = parseAddress(text);
  return address === null ? null : wordsOf(address);
}

export function wordsOf(address: ipaddr.IPv4 | ipaddr.IPv6): AddressWords {
  return address instanceof ipaddr.IPv4 ? ipv4Of(address) : ipv6Of(address);
}

export function ipv4Of({ octets }: ipaddr.IPv4): number {
  return octets.reduce((value, octet) => value * 256 + octet, 0);
}

export function ipv6Of({ parts }: ipaddr.IPv6): Words {
  const word = (at: number): number => (((parts[at] as number) << 16) | (parts[at + 1] as number)) >>> 0;
  return [word(0), word(2), word(4), word(6)];
}

/**
 * Four numbers without leading zeros, as `isIPv4` of Node has it; -1: none. By hand, because lists have a million
 * lines.
 */
export function ipv4In(text: string): number {
  let value = 0;
  let part = -1;
  let parts = 1;
  for (let at = 0; at < text.length; at += 1) {
    const digit = text.charCodeAt(at) - 48;
    if (digit >= 0 && digit <= 9) {
      if (part === 0) return -1;
      part = part === -1 ? digit : part * 10 + digit;
      if (part > 255) return -1;
    } else {
      if (digit !== -2 || part === -1 || parts === 4) return -1;
      value = value * 256 + part;
      parts += 1;
      part = -1;
    }
  }
  return parts === 4 && part !== -1 ? value * 256 + part : -1;
}

/** -1: not a prefix length. */
export function prefixIn(text: string): number {
  return /^(?:0|[1-9]\d{0,2})$/.test(text) ? Number(text) : -1;
}

/** The first bits of an address as a word; the rest is 0. */
export function maskOf(bits: number): number {
  if (bits <= 0) return 0;
  return bits >= 32 ? 0xffff_ffff : (0xffff_ffff << (32 - bits)) >>> 0;
}

/** `text` is an IPv6 address in hexadecimal alone. IPv4 inside IPv6 (`::ffff:102:304`) becomes the IPv4 address. */
function plainIpv6In(text: string): AddressWords {
  const words: [number, number, number, number] = [0, 0, 0, 0];
  const gap = text.indexOf('::');
  if (gap === -1) fill(words, text, 0);
  else {
    fill(words, text.slice(0, gap), 0);
    const tail = text.slice(gap + 2);
    if (tail !== '') fill(words, tail, 8 - groupsIn(tail));
  }
  return words[0] === 0 && words[1] === 0 && words[2] === 0xffff ? words[3] : words;
}

function groupsIn(text: string): number {
  let groups = 1;
  for (let at = text.indexOf(':'); at !== -1; at = text.indexOf(':', at + 1)) groups += 1;
  return groups;
}

/** Puts groups of 16 bits from this place on. */
function fill(words: [number, number, number, number], text: string, first: number): void {
  let place = first;
  let group = 0;
  for (let at = 0; at <= text.length; at += 1) {
    const code = at === text.length ? COLON : text.charCodeAt(at);
    if (code !== COLON) {
      // Digits, and letters of either case.
      group = group * 16 + (code <= NINE ? code - ZERO : (code | LOWER) - A + 10);
      continue;
    }
    const word = place >> 1;
    words[word] = ((place & 1) === 0 ? group * 0x1_0000 : (words[word] as number) + group) >>> 0;
    place += 1;
    group = 0;
  }
}

const COLON = 58;
const ZERO = 48;
const NINE = 57;
const A = 97;
const LOWER = 32;

/** Marks the layout below. Another one gets another number, so that a table of another version is never read. */
const LAYOUT = 0x504c_5431;
const HEADER_WORDS = 4;
const IPV6_WORDS = 4;
const WORD_BYTES = 4;
const WORD_BITS = 32;

interface TableSize {
  readonly ipv4: number;
  readonly ipv6: number;
  /** Whether each range has a number, such as one that stands for a country. */
  readonly hasValues: boolean;
}

/** The parts of a table, as views of its memory. Ranges are sorted and do not overlap. */
interface TableParts {
  readonly ipv4Starts: Uint32Array;
  readonly ipv4Ends: Uint32Array;
  /** Four words for each address. */
  readonly ipv6Starts: Uint32Array;
  readonly ipv6Ends: Uint32Array;
  /** Values of IPv4 ranges come before those for IPv6 ranges; empty without values. */
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

  /**
   * Position of the range that contains the address; -1: none does. Like rules, ranges of IPv6 contain no IPv4 address.
   */
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

/** Why bytes are not a usable list. The message follows the name of the list, and never quotes what the bytes say. */
export class AddressListProblem extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'AddressListProblem';
  }
}
