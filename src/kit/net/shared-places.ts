import { isIPv6 } from 'node:net';

/**
 * The unit that counts as one client: an IPv4 address, or the /64 of an IPv6 address, since its owner has all 2^64
 * addresses.
 */
export function ownerOf(address: string): string {
  // Asked for every request of a worker: the exact check costs more than the rest of the counting.
  if (!address.includes(':') || !isIPv6(address)) return address;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address);
  if (mapped?.[1] !== undefined) return mapped[1];
  const [head = '', tail] = (address.split('%')[0] ?? '').split('::');
  const groups = head === '' ? [] : head.split(':');
  if (tail !== undefined) {
    const after = tail === '' ? [] : tail.split(':');
    while (groups.length < 8 - after.length) groups.push('0');
    groups.push(...after);
  }
  return `${groups.slice(0, 4).join(':')}::/64`;
}

/** Why a scarce thing gives no place: none is left, or the visitor's address holds its share. */
export type Shortage = 'full' | 'share';

/**
 * Reset codes between nodes and threads: the request was not processed, because of a shortage. RFC 9113 §7 lets an end
 * define further codes.
 */
export const CODE_OF_SHORTAGE: Readonly<Record<Shortage, number>> = { full: 0x706c_6601, share: 0x706c_6602 };

/** An address may hold this many whatever is left: a small thing must work for a lone visitor. */
const LEAST_SHARE = 8;

export function shortageOfCode(code: number): Shortage | null {
  if (code === CODE_OF_SHORTAGE.full) return 'full';
  return code === CODE_OF_SHORTAGE.share ? 'share' : null;
}

/** One of several ways, each with places that visitors share: a connection to an agent. */
interface SharedWay {
  readonly hasRoom: boolean;
  shortage?(visitor: string | undefined): Shortage | null;
}

export function takes(way: SharedWay, visitor: string | undefined): boolean {
  return way.hasRoom && (visitor === undefined || (way.shortage?.(visitor) ?? null) === null);
}

/** Why none of the ways has a place; null: not for a lack of places. */
export function shortageOf(ways: Iterable<SharedWay>, visitor: string | undefined): Shortage | null {
  let found: Shortage | null = null;
  for (const way of ways) {
    const shortage = way.shortage?.(visitor) ?? null;
    if (shortage === 'share') return shortage;
    found ??= shortage;
  }
  return found;
}

/**
 * The places of a scarce thing that visitors share, such as the streams of a connection. An address gets another place
 * while it holds fewer than are free. So it never holds more than half of what others leave, and each further address
 * finds as many free places as the one before it holds. An IPv6 /64 counts as one address.
 *
 * While less than half of the places are held, nobody can hold as many as are free: addresses are noted, and not
 * counted. Counting starts at half and ends at a quarter, so that it is amortized over as many changes.
 */
export class SharedPlaces {
  size: number;
  readonly #addresses: (string | null)[] = [];
  readonly #vacant: number[] = [];
  #held = 0;
  #byOwner: Map<string, number> | null = null;

  constructor(size: number) {
    this.size = size;
  }

  get held(): number {
    return this.#held;
  }

  /** Null: there is a place. Without an address only the number of places counts. */
  shortage(address?: string): Shortage | null {
    if (this.#held >= this.size) return 'full';
    return address !== undefined && this.isShareUsed(address) ? 'share' : null;
  }

  /** Whether the address holds as many as are free, which may be none. */
  isShareUsed(address: string): boolean {
    const free = this.size - this.#held;
    if (this.#held < free) return false;
    this.#byOwner ??= this.#counted();
    const own = this.#byOwner.get(ownerOf(address)) ?? 0;
    return own >= free && own >= LEAST_SHARE;
  }

  /** Takes a place, whether there is one or not: the caller decides. Returns what `leave` needs. */
  enter(address: string | null = null): number {
    const place = this.#vacant.pop() ?? this.#addresses.length;
    this.#addresses[place] = address;
    this.#held += 1;
    if (this.#byOwner !== null && address !== null) count(this.#byOwner, address, 1);
    return place;
  }

  leave(place: number): void {
    const address = this.#addresses[place] ?? null;
    this.#addresses[place] = null;
    this.#vacant.push(place);
    this.#held -= 1;
    if (this.#byOwner === null) return;
    if (this.#held < this.size / 4) this.#byOwner = null;
    else if (address !== null) count(this.#byOwner, address, -1);
  }

  #counted(): Map<string, number> {
    const byOwner = new Map<string, number>();
    for (const address of this.#addresses) if (address !== null) count(byOwner, address, 1);
    return byOwner;
  }
}

/**
 * Strangers who have proved nothing yet, in a fixed number. When there are too many, the one that has waited longest is
 * dropped: of the same address if that has its share, so that a stranger drops only its own, otherwise of all.
 */
export class WaitingStrangers<Key> {
  readonly #places: SharedPlaces;
  readonly #waiting = new Map<Key, { readonly address: string; readonly place: number }>();

  constructor(max: number) {
    this.#places = new SharedPlaces(max);
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** Returns the one that is dropped, and forgets it. */
  add(key: Key, address: string): Key | null {
    const dropped = this.#tooMany(address);
    if (dropped !== null) this.delete(dropped);
    this.#waiting.set(key, { address, place: this.#places.enter(address) });
    return dropped;
  }

  delete(key: Key): boolean {
    const waiting = this.#waiting.get(key);
    if (waiting === undefined) return false;
    this.#waiting.delete(key);
    this.#places.leave(waiting.place);
    return true;
  }

  #tooMany(address: string): Key | null {
    const isShareUsed = this.#places.isShareUsed(address);
    if (!isShareUsed && this.#places.shortage() === null) return null;
    const owner = ownerOf(address);
    for (const [key, waiting] of this.#waiting) if (!isShareUsed || ownerOf(waiting.address) === owner) return key;
    return null;
  }
}

function count(byOwner: Map<string, number>, address: string, by: 1 | -1): void {
  const owner = ownerOf(address);
  const now = (byOwner.get(owner) ?? 0) + by;
  if (now > 0) byOwner.set(owner, now);
  else byOwner.delete(owner);
}
