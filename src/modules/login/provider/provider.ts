import type { JWTVerifyGetKey } from 'jose';
import type { Clock } from '../../../lib/clock.ts';
import type { GuardedFetch } from '../../../lib/http/guarded-fetch.ts';
import { type DiscoveredMetadata, discover } from './discovery.ts';
import { IssuerKeys } from './issuer-keys.ts';
import { FetchedIssuer, type IssuerSource } from './issuer-source.ts';

export interface ProviderPorts {
  readonly fetch: GuardedFetch;
  readonly clock: Clock;
  /** Hosts, as in URL.hostname, that settings allow to contact without TLS. */
  isPlainHttpAllowed(hostname: string): boolean;
}

/** Data of one OpenID provider, for all its clients. */
export class Provider {
  readonly issuer: string;
  readonly ports: ProviderPorts;
  readonly #source: IssuerSource<DiscoveredMetadata>;
  readonly #keys: IssuerKeys;

  constructor(issuer: string, ports: ProviderPorts, source = fetchedProvider(issuer, ports)) {
    this.issuer = issuer;
    this.ports = ports;
    this.#source = source;
    this.#keys = new IssuerKeys(source);
  }

  metadata(): Promise<DiscoveredMetadata> {
    return this.#source.metadata();
  }

  /** See IssuerKeys. */
  withKeys<Result>(verify: (keys: JWTVerifyGetKey) => Promise<Result>): Promise<Result> {
    return this.#keys.withKeys(verify);
  }
}

export function fetchedProvider(issuer: string, ports: ProviderPorts): IssuerSource<DiscoveredMetadata> {
  return new FetchedIssuer({ fetch: ports.fetch, clock: ports.clock, discover: () => discover(issuer, ports) });
}
