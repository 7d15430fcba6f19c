import type { Clock } from '../../../lib/clock.ts';
import { LruMap } from '../../../lib/lru-map.ts';
import { TokenBucket } from '../../../lib/token-bucket.ts';
import { type ClientNetwork, networksOf } from './client-networks.ts';
import { type CountedNetwork, CountedNetworks } from './counted-network.ts';
import { RecognizedClients } from './recognized-clients.ts';

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
