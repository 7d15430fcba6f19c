import { parseAddress } from '../../../lib/cidr.ts';
import type { Clock } from '../../../lib/clock.ts';
import { LruMap } from '../../../lib/lru-map.ts';

const MINUTE_MS = 60_000;
/** An address that failed is suspect for so long. */
const SUSPECT_MS = 10 * MINUTE_MS;
/** Who attacks from more addresses than this is not stopped by counting them. */
const MAX_ADDRESSES = 20_000;
const MAX_ISSUERS = 1_000;

export interface AttemptLimits {
  /** Per minute; 0 is no limit. */
  readonly perAddress: number;
  readonly perIssuer: number;
}

/** Leave to send one token request. Only `succeeded` and `unused` give it back. */
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

interface AddressState {
  readonly bucket: Bucket;
  suspectUntilMs: number;
}

/**
 * Bounds the token requests that callbacks can cause with made-up codes, per address and per issuer. A login that succeeds costs
 * nothing, so a whole office behind one address is not counted; requests under way are. Addresses whose logins failed share half of an
 * issuer's number: a few of them cannot use up what all others need to log in.
 */
export class LoginAttempts {
  readonly #limits: AttemptLimits;
  readonly #clock: Clock;
  readonly #addresses = new LruMap<string, AddressState>(MAX_ADDRESSES);
  readonly #issuers = new LruMap<string, { readonly all: Bucket; readonly suspects: Bucket }>(MAX_ISSUERS);

  constructor(limits: AttemptLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  begin(issuer: string, clientAddress: string): Attempt | TooManyAttempts {
    const now = this.#clock.nowMs();
    const address = this.#address(networkOf(clientAddress));
    const { all, suspects } = this.#issuer(issuer);
    const suspectForMs = address.suspectUntilMs - now;
    const isSuspect = suspectForMs > 0 && suspectForMs <= SUSPECT_MS;
    const ofIssuer = isSuspect ? [all, suspects] : [all];
    for (const [limit, buckets] of [['address', [address.bucket]] as const, ['issuer', ofIssuer] as const]) {
      const waitMs = Math.max(...buckets.map((bucket) => bucket.waitMs(now)));
      if (waitMs > 0) return { limit, retryAfterSeconds: Math.ceil(waitMs / 1000) };
    }
    const taken = [address.bucket, ...ofIssuer];
    for (const bucket of taken) bucket.take(now);
    const giveBack = (): void => {
      for (const bucket of taken) bucket.giveBack();
    };
    return {
      succeeded: () => {
        address.suspectUntilMs = 0;
        giveBack();
      },
      failed: () => {
        address.suspectUntilMs = this.#clock.nowMs() + SUSPECT_MS;
      },
      unused: giveBack,
    };
  }

  #address(network: string): AddressState {
    let state = this.#addresses.get(network);
    if (state === undefined) {
      state = { bucket: new Bucket(this.#limits.perAddress), suspectUntilMs: 0 };
      this.#addresses.set(network, state);
    }
    return state;
  }

  #issuer(issuer: string): { readonly all: Bucket; readonly suspects: Bucket } {
    let state = this.#issuers.get(issuer);
    if (state === undefined) {
      const { perIssuer } = this.#limits;
      state = { all: new Bucket(perIssuer), suspects: new Bucket(Math.ceil(perIssuer / 2)) };
      this.#issuers.set(issuer, state);
    }
    return state;
  }
}

/** A token bucket that holds a minute's worth. */
class Bucket {
  readonly #perMinute: number;
  #tokens: number;
  #atMs = 0;

  constructor(perMinute: number) {
    this.#perMinute = perMinute;
    this.#tokens = perMinute;
  }

  /** Until there is one to take. */
  waitMs(nowMs: number): number {
    if (this.#perMinute === 0) return 0;
    // A clock that was set back adds nothing, and takes nothing away.
    const elapsedMs = Math.max(0, nowMs - this.#atMs);
    this.#tokens = Math.min(this.#perMinute, this.#tokens + (elapsedMs / MINUTE_MS) * this.#perMinute);
    this.#atMs = nowMs;
    return this.#tokens >= 1 ? 0 : ((1 - this.#tokens) / this.#perMinute) * MINUTE_MS;
  }

  take(nowMs: number): void {
    if (this.waitMs(nowMs) === 0) this.#tokens -= 1;
  }

  giveBack(): void {
    this.#tokens = Math.min(this.#perMinute, this.#tokens + 1);
  }
}

/** One customer of an access provider has a /64 at least. */
function networkOf(clientAddress: string): string {
  const address = parseAddress(clientAddress);
  if (address === null) return clientAddress;
  return address.kind() === 'ipv4' ? address.toString() : address.toByteArray().slice(0, 8).join('.');
}
