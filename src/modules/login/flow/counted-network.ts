import { LruMap } from '../../../lib/lru-map.ts';
import { TokenBucket } from '../../../lib/token-bucket.ts';
import type { ClientNetwork, NetworkSize } from './client-networks.ts';

/** How long a network stays suspect after a failure. */
const SUSPECT_MS = 10 * 60_000;
/** Per size: a flood of /64 must not evict the /48 that they belong to. */
const MAX_NETWORKS = 20_000;

/** The failed logins of one network. */
export class CountedNetwork {
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

export class CountedNetworks {
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
