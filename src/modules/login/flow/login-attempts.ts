import type { Clock } from '../../../kit/clock.ts';
import { LruMap } from '../../../kit/lru-map.ts';
import { parseAddress } from '../../../kit/net/cidr.ts';
import { TokenBucket } from '../../../kit/token-bucket.ts';

/** Multiple of a single address's limit that a network has. */
type NetworkSize = 1 | 2 | 4;

interface ClientNetwork {
  readonly name: string;
  readonly size: NetworkSize;
}

/**
 * Customers of access providers have a /64, a /56 or a /48 (RFC 6177), tenants of hosting providers often a /24. Each
 * is limited; otherwise the 65,536 /64 of one customer would count as that many clients. A wider network has a higher
 * limit than a narrower one, so that one customer cannot use up the neighbors' share.
 */
const IPV6_PREFIXES = [
  { bytes: 6, size: 4 },
  { bytes: 7, size: 2 },
  { bytes: 8, size: 1 },
] as const;
const IPV4_PREFIXES = [
  { bytes: 3, size: 4 },
  { bytes: 4, size: 1 },
] as const;

/** The networks of an address, widest first. */
function networksOf(clientAddress: string): readonly ClientNetwork[] {
  const address = parseAddress(clientAddress);
  if (address === null) return [{ name: clientAddress, size: 1 }];
  const isIPv4 = address.kind() === 'ipv4';
  const bytes = address.toByteArray();
  return (isIPv4 ? IPV4_PREFIXES : IPV6_PREFIXES).map((prefix) => ({
    name: `${isIPv4 ? 4 : 6}:${bytes.slice(0, prefix.bytes).join('.')}`,
    size: prefix.size,
  }));
}

/** The name of the widest network: phones and carriers change addresses within it. */
export function widestNetworkOf(clientAddress: string): string {
  return networksOf(clientAddress)[0]?.name ?? clientAddress;
}

/** How long a network stays suspect after a failure. */
const SUSPECT_MS = 10 * 60_000;
/** Per size: a flood of /64 must not evict the /48 that they belong to. */
const MAX_NETWORKS = 20_000;

/** The failed logins of one network. */
class CountedNetwork {
  readonly bucket: TokenBucket;
  /** Failures that make it suspect: one failure in a /24 says little about its 256 addresses. */
  readonly #tolerated: number;
  #failures = 0;
  #failedAtMs = 0;

  constructor(size: NetworkSize, perMinute: number) {
    this.bucket = new TokenBucket(size * perMinute);
    this.#tolerated = size;
  }

  isSuspect(nowMs: number): boolean {
    return this.#failures >= this.#tolerated && this.#isRecent(nowMs);
  }

  failed(nowMs: number): void {
    this.#failures = this.#isRecent(nowMs) ? this.#failures + 1 : 1;
    this.#failedAtMs = nowMs;
  }

  forgive(): void {
    this.#failures = 0;
  }

  /** A time in the future, left by a clock that was set back, does not count as recent. */
  #isRecent(nowMs: number): boolean {
    const agoMs = nowMs - this.#failedAtMs;
    return agoMs >= 0 && agoMs < SUSPECT_MS;
  }
}

class CountedNetworks {
  readonly #perAddress: number;
  readonly #bySize: Readonly<Record<NetworkSize, LruMap<string, CountedNetwork>>> = {
    1: new LruMap(MAX_NETWORKS),
    2: new LruMap(MAX_NETWORKS),
    4: new LruMap(MAX_NETWORKS),
  };

  constructor(perAddress: number) {
    this.#perAddress = perAddress;
  }

  get({ name, size }: ClientNetwork): CountedNetwork {
    const networks = this.#bySize[size];
    let network = networks.get(name);
    if (network === undefined) {
      network = new CountedNetwork(size, this.#perAddress);
      networks.set(name, network);
    }
    return network;
  }
}

/** About 5 MB. Only clients that have logged in write here, so a flood of failures evicts nothing. */
const MAX_RECOGNIZED = 50_000;
/** Token requests that may fail or be in progress before the client has to succeed again. */
const CREDIT = 10;

/**
 * Addresses (IPv6: /64) or browsers from which a user has logged in at an issuer, each with a credit that failures use
 * up and a success renews: one account cannot be turned into a license to fail.
 */
class RecognizedClients {
  readonly #credits = new LruMap<string, number>(MAX_RECOGNIZED);
  readonly #unseen: number;

  /** `areProven`: those that were not seen here have proved a login before, and have the whole credit. */
  constructor({ areProven }: { readonly areProven: boolean }) {
    this.#unseen = areProven ? CREDIT : 0;
  }

  has(key: string): boolean {
    return (this.#credits.get(key) ?? this.#unseen) > 0;
  }

  use(key: string): void {
    this.#add(key, -1);
  }

  giveBack(key: string): void {
    this.#add(key, 1);
  }

  succeeded(key: string): void {
    this.#credits.set(key, CREDIT);
  }

  #add(key: string, change: number): void {
    const credit = this.#credits.get(key) ?? this.#unseen;
    if (credit > 0 || this.#credits.get(key) !== undefined)
      this.#credits.set(key, Math.min(CREDIT, Math.max(0, credit + change)));
  }
}

const MAX_ISSUERS = 1_000;

export interface AttemptLimits {
  /** Per minute; 0 means no limit. Wider networks have a multiple of it. */
  readonly perAddress: number;
  readonly perIssuer: number;
}

export interface Callback {
  readonly issuer: string;
  readonly clientAddress: string;
  /** The widest network of the address that started the login. */
  readonly startedIn: string;
  /** The browser, if its cookies prove that somebody has logged in with it, here or on another node; else null. */
  readonly browser: string | null;
}

/** Permission to send one token request. Only `succeeded` and `unused` give it back. */
export interface Attempt {
  succeeded(): void;
  failed(): void;
  /** Nothing was sent after all. */
  unused(): void;
}

export interface TooManyAttempts {
  readonly limit: 'address' | 'issuer';
  readonly retryAfterSeconds: number;
}

/**
 * The share of an issuer's budget that each standing leaves to those above it:
 * - `recognized`: a user has logged in with this browser, or at this issuer from the same address (IPv6: /64), before;
 * - `steady`: the login ends in the network in which it started;
 * - `moved`: it does not;
 * - `suspect`: logins from the address, or several from its network, failed within ten minutes.
 */
const KEPT_SHARE = { recognized: 0, steady: 1 / 4, moved: 3 / 8, suspect: 1 / 2 } as const;

interface Recognized {
  readonly clients: RecognizedClients;
  readonly key: string;
  networks(all: readonly ClientNetwork[]): readonly ClientNetwork[];
}

interface Issuer {
  /** Shorter than the issuer's URL as part of a key. */
  readonly id: number;
  readonly bucket: TokenBucket;
}

/**
 * Bounds the token requests that callbacks with invented codes can cause, per network and per issuer: each carries the
 * client's secret to the provider, which may block the client because of them. A successful login costs nothing, so a
 * whole office behind one address is not counted; requests in progress are. The failures of others lock out neither a
 * browser nor an address that succeeded before, as long as they have not failed themselves too often since. Callbacks
 * that cause no token request (a wrong or used state) never come here.
 */
export class LoginAttempts {
  readonly #perIssuer: number;
  readonly #clock: Clock;
  readonly #networks: CountedNetworks;
  readonly #addresses = new RecognizedClients({ areProven: false });
  readonly #browsers = new RecognizedClients({ areProven: true });
  readonly #issuers = new LruMap<string, Issuer>(MAX_ISSUERS);
  #lastIssuerId = 0;

  constructor(limits: AttemptLimits, clock: Clock) {
    this.#perIssuer = limits.perIssuer;
    this.#networks = new CountedNetworks(limits.perAddress);
    this.#clock = clock;
  }

  begin({ issuer, clientAddress, startedIn, browser }: Callback): Attempt | TooManyAttempts {
    const now = this.#clock.nowMs();
    const { id, bucket } = this.#issuer(issuer);
    const networks = networksOf(clientAddress);
    const address = `${id} ${networks.at(-1)?.name}`;
    const recognized = this.#recognized(address, browser === null ? null : `${id} ${browser}`);
    const counted: CountedNetwork[] = [];
    // The widest comes first: a /64 is not remembered when its /48 is rejected.
    for (const network of recognized === null ? networks : recognized.networks(networks)) {
      const one = this.#networks.get(network);
      const waitMs = recognized === null ? one.bucket.waitMs(now) : 0;
      if (waitMs > 0) return refusal('address', waitMs);
      counted.push(one);
    }
    const isSuspect = counted.some((network) => network.isSuspect(now));
    const unrecognized = isSuspect ? 'suspect' : startedIn === networks[0]?.name ? 'steady' : 'moved';
    const waitMs = bucket.waitMs(now, KEPT_SHARE[recognized === null ? unrecognized : 'recognized']);
    if (waitMs > 0) return refusal('issuer', waitMs);
    const taken = [bucket, ...counted.map((network) => network.bucket)];
    for (const one of taken) one.take();
    recognized?.clients.use(recognized.key);
    return {
      succeeded: () => {
        for (const one of taken) one.giveBack();
        // Not the wider ones: one account must not clear the failures of a whole /48.
        counted.at(-1)?.forgive();
        this.#addresses.succeeded(address);
        recognized?.clients.succeeded(recognized.key);
      },
      failed: () => {
        for (const network of counted) network.failed(this.#clock.nowMs());
      },
      unused: () => {
        for (const one of taken) one.giveBack();
        recognized?.clients.giveBack(recognized.key);
      },
    };
  }

  /** By what the client is recognized, and the networks in which its failures count. */
  #recognized(address: string, browser: string | null): Recognized | null {
    if (browser !== null && this.#browsers.has(browser)) {
      return { clients: this.#browsers, key: browser, networks: () => [] };
    }
    if (!this.#addresses.has(address)) return null;
    return { clients: this.#addresses, key: address, networks: (all) => all.slice(-1) };
  }

  #issuer(issuer: string): Issuer {
    let state = this.#issuers.get(issuer);
    if (state === undefined) {
      this.#lastIssuerId += 1;
      state = { id: this.#lastIssuerId, bucket: new TokenBucket(this.#perIssuer) };
      this.#issuers.set(issuer, state);
    }
    return state;
  }
}

function refusal(limit: TooManyAttempts['limit'], waitMs: number): TooManyAttempts {
  return { limit, retryAfterSeconds: Math.ceil(waitMs / 1000) };
}
