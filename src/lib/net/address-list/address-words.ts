import { isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';
import { parseAddress } from '../cidr.ts';

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

/** Four numbers without leading zeros, as `isIPv4` of Node has it; -1: none. By hand, because lists have a million lines. */
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
