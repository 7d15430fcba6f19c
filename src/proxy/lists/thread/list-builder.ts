import { isMainThread, parentPort } from 'node:worker_threads';
import { Reader } from 'mmdb-lib';
import { AddressListProblem, newTable } from '../../../kit/net/address-table.ts';
import { countryNumber } from '../../../kit/net/country-code.ts';
import { parseAddressList } from '../../../kit/net/parse-address-list.ts';
import type { BuildAnswer, BuildJob, BuiltTable } from '../kept-tables.ts';

/** A thread that makes tables of lists: a million lines take a second, and a damaged database may take forever. */
if (!isMainThread && parentPort !== null) {
  const port = parentPort;
  port.on('message', (job: BuildJob) => port.postMessage(answer(job)));
}

function answer({ format, chunks }: BuildJob): BuildAnswer {
  try {
    const [bytes = new Uint8Array()] = chunks.length > 1 ? [Buffer.concat(chunks)] : chunks;
    return format === 'plain' ? parseAddressList(bytes) : countryTable(bytes);
  } catch (error) {
    if (error instanceof AddressListProblem) return { problem: error.message };
    // What a library says about damaged bytes may quote them.
    return { problem: format === 'plain' ? 'cannot be read' : 'is not an MMDB file, or is damaged' };
  }
}

/**
 * Networks for each node of the tree. A tree has one more network than nodes, and the addresses of IPv4 appear in it a
 * few times, as 6to4 and the like. In a damaged file nodes can contain each other, and the networks never end.
 */
const NETWORKS_PER_NODE = 8;
const FREE_NETWORKS = 1_000;
/** Decoded records that are kept: a database of countries has some hundred, one of cities far more. */
const MAX_CACHED = 50_000;
const IPV4_BITS = 32;
const IPV6_BITS = 128;
/** IPv4 addresses inside IPv6 are looked up as IPv4: `::/96` and `::ffff:0:0/96` are left out. */
const IPV4_MAPPED = 0xffffn << 32n;
const IPV4_SIZE = 1n << 32n;

interface CountryRange {
  readonly start: bigint;
  end: bigint;
  readonly country: number;
}

/**
 * The countries of all addresses in an MMDB file, as one table. So requests never meet the format, whose pointers a
 * damaged file can turn into an endless structure. Throws for such a file, or runs for too long: see ListLoader.
 */
export function countryTable(bytes: Uint8Array): BuiltTable {
  let cached = new Map<string | number, unknown>();
  const cache = {
    get: (key: string | number) => cached.get(key) as never,
    set: (key: string | number, value: unknown) => {
      if (cached.size >= MAX_CACHED) cached = new Map();
      cached.set(key, value);
    },
  };
  const reader = new Reader(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), { cache });
  const budget = { left: FREE_NETWORKS + NETWORKS_PER_NODE * Math.min(reader.metadata.nodeCount, bytes.length) };
  const look = (text: string): [unknown, number] => {
    budget.left -= 1;
    if (budget.left < 0) throw new AddressListProblem('is damaged: its networks do not end');
    return reader.getWithPrefixLength(text) as [unknown, number];
  };
  const ipv4 = rangesOf(0n, IPV4_BITS, (address) => look(ipv4Text(Number(address))));
  const hasIpv6 = reader.metadata.ipVersion === 6;
  const ipv6 = hasIpv6 ? rangesOf(IPV4_SIZE, IPV6_BITS, (address) => look(ipv6Text(address))) : [];
  if (ipv4.length + ipv6.length === 0) {
    throw new AddressListProblem('has no countries: use a database of countries or cities, such as GeoLite2-Country');
  }
  return { table: tableOf(ipv4, ipv6), entries: ipv4.length + ipv6.length, skippedLines: 0 };
}

/** Neighbours of one country are one range. Addresses without a country are in none. */
function rangesOf(first: bigint, bits: number, look: (address: bigint) => [unknown, number]): CountryRange[] {
  const ranges: CountryRange[] = [];
  const length = BigInt(bits);
  let address = first;
  while (address < 1n << length) {
    if (bits === IPV6_BITS && address === IPV4_MAPPED) {
      address += IPV4_SIZE;
      continue;
    }
    const [record, prefix] = look(address);
    const size = 1n << (length - BigInt(prefix));
    // The first network of IPv6 may begin before the first address.
    let end = (address / size) * size + size - 1n;
    if (bits === IPV6_BITS && address < IPV4_MAPPED && end >= IPV4_MAPPED) end = IPV4_MAPPED - 1n;
    const country = countryNumber(countryIn(record));
    const last = ranges.at(-1);
    if (country !== 0 && last?.country === country && last.end === address - 1n) last.end = end;
    else if (country !== 0) ranges.push({ start: address, end, country });
    address = end + 1n;
  }
  return ranges;
}

/** `country.iso_code` of MaxMind and DB-IP; `country_code` or `country` of IPinfo. */
function countryIn(record: unknown): string {
  if (typeof record !== 'object' || record === null) return '';
  const { country, country_code: code } = record as Readonly<Record<string, unknown>>;
  if (typeof code === 'string') return code;
  if (typeof country === 'string') return country;
  if (typeof country !== 'object' || country === null) return '';
  const iso = (country as Readonly<Record<string, unknown>>)['iso_code'];
  return typeof iso === 'string' ? iso : '';
}

function tableOf(ipv4: readonly CountryRange[], ipv6: readonly CountryRange[]): SharedArrayBuffer {
  const { memory, parts } = newTable({ ipv4: ipv4.length, ipv6: ipv6.length, hasValues: true });
  for (const [at, { start, end, country }] of ipv4.entries()) {
    parts.ipv4Starts[at] = Number(start);
    parts.ipv4Ends[at] = Number(end);
    parts.values[at] = country;
  }
  for (const [at, { start, end, country }] of ipv6.entries()) {
    parts.ipv6Starts.set(wordsOf(start), 4 * at);
    parts.ipv6Ends.set(wordsOf(end), 4 * at);
    parts.values[ipv4.length + at] = country;
  }
  return memory;
}

function wordsOf(address: bigint): number[] {
  return [96n, 64n, 32n, 0n].map((shift) => Number((address >> shift) & 0xffff_ffffn));
}

function ipv4Text(address: number): string {
  return `${address >>> 24}.${(address >>> 16) & 0xff}.${(address >>> 8) & 0xff}.${address & 0xff}`;
}

function ipv6Text(address: bigint): string {
  const hex = address.toString(16).padStart(32, '0');
  return [0, 4, 8, 12, 16, 20, 24, 28].map((at) => hex.slice(at, at + 4)).join(':');
}
