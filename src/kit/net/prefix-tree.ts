import { type AddressWords, maskOf, type Words } from './address-table.ts';

/** What a tree has for a prefix. Ids order those that match one address. */
export interface PrefixEntry {
  readonly id: string;
}

export interface Prefix {
  /** The version of IP, and the bits; those behind the prefix are ignored. */
  readonly address: AddressWords;
  readonly bits: number;
}

const FNV_OFFSET = 0x811c_9dc5;
const FNV_PRIME = 0x0100_0193;
const WORD_BITS = 32;

/**
 * Prefixes of addresses, found in a microsecond among 100,000, and changed one by one: a change makes some dozen new
 * nodes and leaves the tree as it was, so code that uses the former one can go on with it. A binary tree over the bits
 * of addresses, in which a node stands for the bits that all below it share.
 */
export class PrefixTree<Entry extends PrefixEntry> {
  readonly #ipv4: Node<Entry> | null;
  readonly #ipv6: Node<Entry> | null;

  constructor(ipv4: Node<Entry> | null = null, ipv6: Node<Entry> | null = null) {
    this.#ipv4 = ipv4;
    this.#ipv6 = ipv6;
  }

  get isEmpty(): boolean {
    return this.#ipv4 === null && this.#ipv6 === null;
  }

  /** Up to `count` of its entries, one for each prefix: those of IPv4 first, in the order of their addresses. */
  some(count: number): readonly Entry[] {
    const found: Entry[] = [];
    const walk = (node: Node<Entry> | null): void => {
      if (node === null || found.length >= count) return;
      if (node.bucket !== null) found.push(node.bucket.newest);
      walk(node.zero);
      walk(node.one);
    };
    walk(this.#ipv4);
    walk(this.#ipv6);
    return found;
  }

  /** The entry with the greatest id among those whose prefix contains the address. */
  find(address: AddressWords): Entry | null {
    if (typeof address === 'number') return findBelow(this.#ipv4, address | 0, 0, 0, 0);
    return findBelow(this.#ipv6, address[0] | 0, address[1] | 0, address[2] | 0, address[3] | 0);
  }

  with({ address, bits }: Prefix, entry: Entry): PrefixTree<Entry> {
    const added = (root: Node<Entry> | null) => inserted(root, leafOf(address, bits, entry));
    return typeof address === 'number'
      ? new PrefixTree(added(this.#ipv4), this.#ipv6)
      : new PrefixTree(this.#ipv4, added(this.#ipv6));
  }

  without({ address, bits }: Prefix, id: string): PrefixTree<Entry> {
    const removed = (root: Node<Entry> | null) =>
      root === null ? null : removedFrom(root, wordsOf(address), bits, id);
    return typeof address === 'number'
      ? new PrefixTree(removed(this.#ipv4), this.#ipv6)
      : new PrefixTree(this.#ipv4, removed(this.#ipv6));
  }
}

/** Words are signed: other numbers would be objects of their own. Words behind the prefix are 0. */
interface Node<Entry extends PrefixEntry> {
  readonly bits: number;
  readonly a: number;
  /** Null: it only joins what is below it. */
  readonly bucket: Bucket<Entry> | null;
  /** What continues with a 0, and with a 1. */
  readonly zero: Node<Entry> | null;
  readonly one: Node<Entry> | null;
  readonly b: number;
  readonly c: number;
  readonly d: number;
}

function findBelow<Entry extends PrefixEntry>(
  root: Node<Entry> | null,
  a: number,
  b: number,
  c: number,
  d: number,
): Entry | null {
  let found: Entry | null = null;
  for (let node = root; node !== null; ) {
    const { bits, bucket } = node;
    if (sharedBits(node, a, b, c, d) < bits) break;
    if (bucket !== null && (found === null || bucket.newest.id > found.id)) found = bucket.newest;
    node = bitAt(bits, a, b, c, d) === 0 ? node.zero : node.one;
  }
  return found;
}

/** How many bits of the node the address has too. */
function sharedBits<Entry extends PrefixEntry>(node: Node<Entry>, a: number, b: number, c: number, d: number): number {
  const { bits } = node;
  let shared = Math.clz32(node.a ^ a);
  if (shared === WORD_BITS && bits > WORD_BITS) shared += Math.clz32(node.b ^ b);
  if (shared === 2 * WORD_BITS && bits > 2 * WORD_BITS) shared += Math.clz32(node.c ^ c);
  if (shared === 3 * WORD_BITS && bits > 3 * WORD_BITS) shared += Math.clz32(node.d ^ d);
  return Math.min(shared, bits);
}

/** Behind the last one, 0: there is nothing below. */
function bitAt(at: number, a: number, b: number, c: number, d: number): number {
  const word = at < WORD_BITS ? a : at < 2 * WORD_BITS ? b : at < 3 * WORD_BITS ? c : d;
  return (word >>> (31 - (at & 31))) & 1;
}

function inserted<Entry extends PrefixEntry>(node: Node<Entry> | null, leaf: Node<Entry>): Node<Entry> {
  if (node === null) return leaf;
  const shared = Math.min(sharedBits(node, leaf.a, leaf.b, leaf.c, leaf.d), leaf.bits);
  if (shared === node.bits) {
    if (shared === leaf.bits) {
      const bucket = leaf.bucket as Bucket<Entry>;
      return { ...node, bucket: node.bucket === null ? bucket : withEntry(node.bucket, bucket) };
    }
    const isOne = bitAt(shared, leaf.a, leaf.b, leaf.c, leaf.d) === 1;
    return isOne ? { ...node, one: inserted(node.one, leaf) } : { ...node, zero: inserted(node.zero, leaf) };
  }
  const isNodeOne = bitAt(shared, node.a, node.b, node.c, node.d) === 1;
  if (shared === leaf.bits) return isNodeOne ? { ...leaf, one: node } : { ...leaf, zero: node };
  const joint = nodeOf<Entry>([leaf.a, leaf.b, leaf.c, leaf.d], shared, null);
  return isNodeOne ? { ...joint, zero: leaf, one: node } : { ...joint, zero: node, one: leaf };
}

/** The same node if it lacks the entry. */
function removedFrom<Entry extends PrefixEntry>(
  node: Node<Entry>,
  words: Words,
  bits: number,
  id: string,
): Node<Entry> | null {
  const [a, b, c, d] = words;
  if (node.bits > bits || sharedBits(node, a, b, c, d) < node.bits) return node;
  if (node.bits === bits) {
    const bucket = node.bucket === null ? null : withoutEntry(node.bucket, id);
    return bucket === node.bucket ? node : joined({ ...node, bucket });
  }
  const isOne = bitAt(node.bits, a, b, c, d) === 1;
  const below = isOne ? node.one : node.zero;
  const left = below === null ? null : removedFrom(below, words, bits, id);
  if (left === below) return node;
  return joined(isOne ? { ...node, one: left } : { ...node, zero: left });
}

/** A node without entries exists only to join two. */
function joined<Entry extends PrefixEntry>(node: Node<Entry>): Node<Entry> | null {
  const { bucket, zero, one } = node;
  if (bucket !== null || (zero !== null && one !== null)) return node;
  return zero ?? one;
}

function leafOf<Entry extends PrefixEntry>(address: AddressWords, bits: number, entry: Entry): Node<Entry> {
  return nodeOf(wordsOf(address), bits, { entry, newest: entry, rank: rankOf(entry.id), below: null, above: null });
}

function nodeOf<Entry extends PrefixEntry>(
  [a, b, c, d]: Words,
  bits: number,
  bucket: Bucket<Entry> | null,
): Node<Entry> {
  const kept = (word: number, before: number): number => (word & maskOf(bits - before)) | 0;
  const [a4, b4, c4, d4] = [kept(a, 0), kept(b, WORD_BITS), kept(c, 2 * WORD_BITS), kept(d, 3 * WORD_BITS)];
  // In this order, what a search of IPv4 reads is in one line of the cache.
  return { bits, a: a4, bucket, zero: null, one: null, b: b4, c: c4, d: d4 };
}

function wordsOf(address: AddressWords): Words {
  return typeof address === 'number' ? [address, 0, 0, 0] : address;
}

/**
 * The entries of one prefix: almost always one. Sorted by id, and a heap by a hash of the id (a treap), so that even
 * 100,000 rules for one range change one by one in some dozen steps.
 */
interface Bucket<Entry extends PrefixEntry> {
  readonly entry: Entry;
  readonly newest: Entry;
  readonly rank: number;
  /** Entries with lesser, and with greater ids. */
  readonly below: Bucket<Entry> | null;
  readonly above: Bucket<Entry> | null;
}

function bucketOf<Entry extends PrefixEntry>(
  { entry, rank }: Bucket<Entry>,
  below: Bucket<Entry> | null,
  above: Bucket<Entry> | null,
): Bucket<Entry> {
  return { entry, rank, below, above, newest: above?.newest ?? entry };
}

/** `added` is a bucket of one entry. */
function withEntry<Entry extends PrefixEntry>(bucket: Bucket<Entry> | null, added: Bucket<Entry>): Bucket<Entry> {
  if (bucket === null) return added;
  const { id } = added.entry;
  if (id === bucket.entry.id) return bucketOf(added, bucket.below, bucket.above);
  if (added.rank > bucket.rank) {
    const [below, above] = splitAt(bucket, id);
    return bucketOf(added, below, above);
  }
  return id < bucket.entry.id
    ? bucketOf(bucket, withEntry(bucket.below, added), bucket.above)
    : bucketOf(bucket, bucket.below, withEntry(bucket.above, added));
}

function splitAt<Entry extends PrefixEntry>(
  bucket: Bucket<Entry> | null,
  id: string,
): readonly [Bucket<Entry> | null, Bucket<Entry> | null] {
  if (bucket === null) return [null, null];
  if (bucket.entry.id < id) {
    const [below, above] = splitAt(bucket.above, id);
    return [bucketOf(bucket, bucket.below, below), above];
  }
  const [below, above] = splitAt(bucket.below, id);
  return [below, bucketOf(bucket, above, bucket.above)];
}

function withoutEntry<Entry extends PrefixEntry>(bucket: Bucket<Entry>, id: string): Bucket<Entry> | null {
  const { entry, below, above } = bucket;
  if (entry.id === id) return merged(below, above);
  const side = id < entry.id ? below : above;
  const left = side === null ? null : withoutEntry(side, id);
  if (left === side) return bucket;
  return id < entry.id ? bucketOf(bucket, left, above) : bucketOf(bucket, below, left);
}

function merged<Entry extends PrefixEntry>(
  below: Bucket<Entry> | null,
  above: Bucket<Entry> | null,
): Bucket<Entry> | null {
  if (below === null || above === null) return below ?? above;
  return below.rank > above.rank
    ? bucketOf(below, below.below, merged(below.above, above))
    : bucketOf(above, merged(below, above.below), above.above);
}

/** FNV-1a: spreads ids that differ in one character. */
function rankOf(id: string): number {
  let rank = FNV_OFFSET;
  for (let at = 0; at < id.length; at += 1) rank = Math.imul(rank ^ id.charCodeAt(at), FNV_PRIME);
  return rank;
}
