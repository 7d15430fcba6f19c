import ipaddr from 'ipaddr.js';
import {
  AddressListProblem,
  compareAt,
  ipv4In,
  ipv4Of,
  ipv6Of,
  newTable,
  prefixIn,
  type Words,
  wordsAt,
} from './address-table.ts';
import { parseWrittenAddress } from './cidr.ts';

const MAX_LIST_ENTRIES = 2_000_000;
/**
 * Share of the lines that are neither empty nor comments. More are a sign of another format, such as HTML or hosts
 * files.
 */
const MAX_UNREADABLE_SHARE = 0.1;
/** The longest range of two IPv6 addresses has 93 characters; comments may be long. */
const MAX_LINE_BYTES = 4096;
const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;

interface ParsedAddressList {
  readonly table: SharedArrayBuffer;
  readonly entries: number;
  /** Lines that are neither entries nor comments. */
  readonly skippedLines: number;
}

/**
 * Parses a plain list: on each line an address, a range in CIDR notation, or `FIRST-LAST`; comments start with `#` or
 * `;`. Throws AddressListProblem for bytes that are another format.
 */
export function parseAddressList(bytes: Uint8Array, maxEntries = MAX_LIST_ENTRIES): ParsedAddressList {
  if (bytes.includes(0)) throw new AddressListProblem('is not text: it must be an uncompressed list in plain text');
  const ranges = new RangeCollector();
  let skippedLines = 0;
  for (const line of linesOf(bytes)) {
    const text = line.replace(/[#;].*$/s, '').trim();
    if (text === '') continue;
    if (!addEntry(text, ranges)) {
      skippedLines += 1;
      // However many entries follow: 60 MB of such lines took 50 seconds, for which other lists waited.
      if (isUnreadable(skippedLines, maxEntries)) throw otherFormat(skippedLines, ranges.count);
    } else if (ranges.count > maxEntries) throw new AddressListProblem(`has more than ${maxEntries} entries`);
  }
  if (isUnreadable(skippedLines, ranges.count)) throw otherFormat(skippedLines, ranges.count);
  if (ranges.count === 0) throw new AddressListProblem('is empty: it has no address and no range');
  return { table: ranges.table(), entries: ranges.count, skippedLines };
}

function isUnreadable(skippedLines: number, entries: number): boolean {
  return skippedLines > MAX_UNREADABLE_SHARE * (skippedLines + entries);
}

function otherFormat(skippedLines: number, entries: number): AddressListProblem {
  const counted = `${skippedLines} of ${skippedLines + entries} lines are neither addresses nor ranges`;
  return new AddressListProblem(`is not a plain list of addresses and ranges: ${counted}`);
}

function* linesOf(bytes: Uint8Array): Generator<string> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  let start = hasMark ? 3 : 0;
  while (start < buffer.length) {
    let end = start;
    while (end < buffer.length && buffer[end] !== LINE_FEED && buffer[end] !== CARRIAGE_RETURN) end += 1;
    // What is left of a longer line is one character that no address has, so that it counts as unreadable.
    if (end > start)
      yield end - start > MAX_LINE_BYTES ? longLine(buffer, start) : buffer.toString('latin1', start, end);
    start = end + 1;
  }
}

/** A comment may be longer than any entry. */
function longLine(buffer: Buffer, start: number): string {
  const text = buffer.toString('latin1', start, start + MAX_LINE_BYTES);
  return /[#;]/.test(text) ? text : '?';
}

/** False: the text is no entry. Bits beyond a prefix are ignored, as ipset and nftables do. */
function addEntry(text: string, ranges: RangeCollector): boolean {
  const dash = text.indexOf('-');
  if (dash !== -1) return addRange(text.slice(0, dash).trim(), text.slice(dash + 1).trim(), ranges);
  const slash = text.indexOf('/');
  const address = slash === -1 ? text : text.slice(0, slash);
  const prefix = slash === -1 ? null : prefixIn(text.slice(slash + 1));
  if (prefix === -1) return false;
  const ipv4 = ipv4In(address);
  if (ipv4 !== -1) return addIpv4Prefix(ipv4, prefix ?? 32, ranges);
  return addIpv6Prefix(address, prefix ?? 128, ranges);
}

function addIpv4Prefix(address: number, prefix: number, ranges: RangeCollector): boolean {
  if (prefix > 32) return false;
  const size = 2 ** (32 - prefix);
  const start = address - (address % size);
  ranges.addIpv4(start, start + size - 1);
  return true;
}

function addIpv6Prefix(text: string, prefix: number, ranges: RangeCollector): boolean {
  const address = parseWrittenAddress(text);
  if (address === null || prefix > 128) return false;
  // IPv4 inside IPv6. A shorter prefix contains more than IPv4 addresses, and matches IPv6 alone, as in rules.
  if (address instanceof ipaddr.IPv4 && prefix >= 96) return addIpv4Prefix(ipv4Of(address), prefix - 96, ranges);
  const words = ipv6Of(address instanceof ipaddr.IPv4 ? address.toIPv4MappedAddress() : address);
  const masks = [0, 32, 64, 96].map((bits) => 2 ** (32 - Math.min(32, Math.max(0, prefix - bits))) - 1);
  const start = words.map((word, at) => (word & ~(masks[at] as number)) >>> 0) as unknown as Words;
  const end = words.map((word, at) => (word | (masks[at] as number)) >>> 0) as unknown as Words;
  ranges.addIpv6(start, end);
  return true;
}

function addRange(first: string, last: string, ranges: RangeCollector): boolean {
  const [from, to] = [parseWrittenAddress(first), parseWrittenAddress(last)];
  if (from === null || to === null || from.kind() !== to.kind()) return false;
  if (from instanceof ipaddr.IPv4) {
    const [start, end] = [ipv4Of(from), ipv4Of(to as ipaddr.IPv4)];
    if (start > end) return false;
    ranges.addIpv4(start, end);
    return true;
  }
  const [start, end] = [ipv6Of(from), ipv6Of(to as ipaddr.IPv6)];
  if (start.some((word, at) => isGreaterFrom(start, end, word, at))) return false;
  ranges.addIpv6(start, end);
  return true;
}

/** Whether the first word that differs is this one, and is greater. */
function isGreaterFrom(start: Words, end: Words, word: number, at: number): boolean {
  return word > (end[at] as number) && start.every((each, before) => before >= at || each === end[before]);
}

const FIRST_CAPACITY = 1024;
const IPV4_WORDS = 2;
const IPV6_WORDS = 4;
/** Start and end of a range of IPv6. */
const PAIR_WORDS = 2 * IPV6_WORDS;

/** Collects ranges in any order, and makes a table of them: sorted, and without those that others contain. */
class RangeCollector {
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
