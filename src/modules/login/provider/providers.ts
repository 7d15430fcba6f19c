import { LruMap } from '../../../lib/lru-map.ts';
import type { OwnIssuer } from '../own-issuer.ts';
import type { DiscoveredMetadata, KeySource } from './discovery.ts';
import type { IssuerSource } from './issuer-source.ts';
import { fetchedProvider, Provider, type ProviderPorts } from './provider.ts';
import { fetchedTenantIssuer, type TenantMetadata } from './tenant-issuer.ts';
import { fetchedTokenIssuer, TokenIssuer } from './token-issuer.ts';

/** The least recently used are dropped; their holders keep using them. */
const MAX_ISSUERS = 1_000;

/** Where the data of issuers come from: fetched by this thread, unless another one has them. */
export interface IssuerSources {
  provider(issuer: string): IssuerSource<DiscoveredMetadata>;
  tokenIssuer(issuer: string): IssuerSource<KeySource>;
  /** By the endpoint that serves the tenants. */
  tenantIssuer(endpoint: string): IssuerSource<TenantMetadata>;
}

export function fetchedIssuers(ports: ProviderPorts): IssuerSources {
  return {
    provider: (issuer) => fetchedProvider(issuer, ports),
    tokenIssuer: (issuer) => fetchedTokenIssuer(issuer, ports),
    tenantIssuer: (endpoint) => fetchedTenantIssuer(endpoint, ports),
  };
}

/** The same issuers, each fetched once for all callers. */
export function keptIssuers(sources: IssuerSources): IssuerSources {
  const providers = new LruMap<string, IssuerSource<DiscoveredMetadata>>(MAX_ISSUERS);
  const tokenIssuers = new LruMap<string, IssuerSource<KeySource>>(MAX_ISSUERS);
  const tenantIssuers = new LruMap<string, IssuerSource<TenantMetadata>>(MAX_ISSUERS);
  return {
    provider: (issuer) => knownOr(providers, issuer, () => sources.provider(issuer)),
    tokenIssuer: (issuer) => knownOr(tokenIssuers, issuer, () => sources.tokenIssuer(issuer)),
    tenantIssuer: (endpoint) => knownOr(tenantIssuers, endpoint, () => sources.tenantIssuer(endpoint)),
  };
}

/** One Provider per issuer, so that its clients on many routes share its data. */
export class Providers {
  readonly #ports: ProviderPorts;
  readonly #sources: Pick<IssuerSources, 'provider'>;
  readonly #own: Pick<OwnIssuer, 'issuer' | 'fetch'> | null;
  readonly #known = new LruMap<string, Provider>(MAX_ISSUERS);

  constructor(
    ports: ProviderPorts,
    sources: Pick<IssuerSources, 'provider'> = fetchedIssuers(ports),
    own: Pick<OwnIssuer, 'issuer' | 'fetch'> | null = null,
  ) {
    this.#ports = ports;
    this.#sources = sources;
    this.#own = own;
  }

  get(issuer: string): Provider {
    return knownOr(this.#known, issuer, () => this.#make(issuer));
  }

  #make(issuer: string): Provider {
    if (this.#own?.issuer !== issuer) return new Provider(issuer, this.#ports, this.#sources.provider(issuer));
    // Postern's own provider cannot be dialled: Postern makes no requests to itself.
    return new Provider(issuer, { ...this.#ports, fetch: this.#own.fetch });
  }
}

/** One per issuer, for all routes that accept its tokens. */
export class TokenIssuers {
  readonly #ports: ProviderPorts;
  readonly #sources: Pick<IssuerSources, 'tokenIssuer'>;
  readonly #known = new LruMap<string, TokenIssuer>(MAX_ISSUERS);

  constructor(ports: ProviderPorts, sources: Pick<IssuerSources, 'tokenIssuer'>) {
    this.#ports = ports;
    this.#sources = sources;
  }

  get(issuer: string): TokenIssuer {
    return knownOr(this.#known, issuer, () => new TokenIssuer(issuer, this.#ports, this.#sources.tokenIssuer(issuer)));
  }
}

function knownOr<Value>(known: LruMap<string, Value>, issuer: string, make: () => Value): Value {
  const found = known.get(issuer);
  if (found !== undefined) return found;
  const made = make();
  known.set(issuer, made);
  return made;
}
