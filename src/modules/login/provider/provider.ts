import type { JWTVerifyGetKey } from 'jose';
import type { Clock } from '../../../lib/clock.ts';
import type { GuardedFetch } from '../../../lib/http/guarded-fetch.ts';
import { CachedResponse } from './cached-response.ts';
import { type DiscoveredMetadata, discover } from './discovery.ts';
import { IssuerKeys } from './issuer-keys.ts';

export interface ProviderPorts {
  readonly fetch: GuardedFetch;
  readonly clock: Clock;
  /** Hosts, as in URL.hostname, that settings allow to contact without TLS. */
  isPlainHttpAllowed(hostname: string): boolean;
}

const MINUTE_MS = 60_000;
const FLOOR_MS = 5_000;
const METADATA_REFRESH_MS = 60 * MINUTE_MS;

/** Cached data of one OpenID provider, for all its clients. */
export class Provider {
  readonly issuer: string;
  readonly ports: ProviderPorts;
  readonly #metadata: CachedResponse<DiscoveredMetadata>;
  readonly #keys: IssuerKeys;

  constructor(issuer: string, ports: ProviderPorts) {
    this.issuer = issuer;
    this.ports = ports;
    const { clock } = ports;
    this.#metadata = new CachedResponse({
      load: () => discover(issuer, ports),
      clock,
      refreshAfterMs: METADATA_REFRESH_MS,
      // Endpoints hardly ever move, and a server there still has to prove its identity.
      validForMs: Number.POSITIVE_INFINITY,
      floorMs: FLOOR_MS,
    });
    const url = async (): Promise<string> => (await this.metadata()).jwks_uri;
    this.#keys = new IssuerKeys({ fetch: ports.fetch, clock, url, floorMs: FLOOR_MS });
  }

  metadata(): Promise<DiscoveredMetadata> {
    return this.#metadata.get();
  }

  /** See IssuerKeys. */
  withKeys<Result>(verify: (keys: JWTVerifyGetKey) => Promise<Result>): Promise<Result> {
    return this.#keys.withKeys(verify);
  }
}
