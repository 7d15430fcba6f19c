import type { JWTVerifyGetKey } from 'jose';
import type { Clock } from '../../../kit/clock.ts';
import type { GuardedFetch } from '../../../kit/http/guarded-fetch.ts';
import { LruMap } from '../../../kit/lru-map.ts';
import type { ConfiguredBy } from '../../contract/agent-form.ts';
import type { OwnIssuer } from '../../contract/own-issuer.ts';
import { type DiscoveredMetadata, discover, discoverKeySource, type KeySource } from './discovery.ts';
import { askForJson, FetchedIssuer, type IssuerSource } from './issuer-source.ts';
import { LoginProblem } from './login-problem.ts';
import { IssuerKeys, type SigningIssuer } from './verify-token.ts';

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

function fetchedProvider(issuer: string, ports: ProviderPorts): IssuerSource<DiscoveredMetadata> {
  return new FetchedIssuer({ fetch: ports.fetch, clock: ports.clock, discover: () => discover(issuer, ports) });
}

/** Published by an endpoint that serves the tenants of one provider. */
export interface TenantMetadata {
  /** Such as `https://login.microsoftonline.com/{tenantid}/v2.0`. */
  readonly issuer: string;
  readonly jwks_uri: string;
}

/** `endpoint`: such as `https://login.microsoftonline.com/common`. */
export function fetchedTenantIssuer(endpoint: string, ports: ProviderPorts): IssuerSource<TenantMetadata> {
  const { fetch, clock } = ports;
  return new FetchedIssuer({ fetch, clock, discover: () => discoverTenants(endpoint, fetch) });
}

async function discoverTenants(endpoint: string, fetch: ProviderPorts['fetch']): Promise<TenantMetadata> {
  const document = await askForJson(fetch, `${endpoint}/v2.0/.well-known/openid-configuration`);
  const { issuer, jwks_uri: keysUrl } = document;
  if (typeof issuer !== 'string' || typeof keysUrl !== 'string' || !URL.canParse(keysUrl)) {
    throw new LoginProblem(
      'provider',
      'malformed_answer',
      `the discovery document of ${endpoint} has no issuer or keys`,
    );
  }
  // Keys from elsewhere could be anybody's.
  if (new URL(keysUrl).origin !== new URL(endpoint).origin) {
    throw new LoginProblem('configuration', 'endpoint_insecure', `the keys of ${endpoint} are on another host`);
  }
  return { issuer, jwks_uri: keysUrl };
}

/** Anybody can send a token with an invented key id: a flood of them costs one request in this time. */
const RELOAD_FLOOR_MS = 60_000;

/** Data of one issuer of tokens for programs. */
export class TokenIssuer implements SigningIssuer {
  readonly issuer: string;
  readonly ports: ProviderPorts;
  readonly #source: IssuerSource<KeySource>;
  readonly #keys: IssuerKeys;

  constructor(issuer: string, ports: ProviderPorts, source: IssuerSource<KeySource>) {
    this.issuer = issuer;
    this.ports = ports;
    this.#source = source;
    this.#keys = new IssuerKeys(source);
  }

  metadata(): Promise<KeySource> {
    return this.#source.metadata();
  }

  withKeys<Result>(verify: (keys: JWTVerifyGetKey) => Promise<Result>): Promise<Result> {
    return this.#keys.withKeys(verify);
  }
}

function fetchedTokenIssuer(issuer: string, ports: ProviderPorts): IssuerSource<KeySource> {
  const { fetch, clock } = ports;
  return new FetchedIssuer({
    fetch,
    clock,
    discover: () => discoverKeySource(issuer, ports),
    reloadFloorMs: RELOAD_FLOOR_MS,
  });
}

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

/** A question of one thread to the thread that has the data of issuers. */
export interface IssuerQuestion {
  readonly configuredBy: ConfiguredBy;
  readonly kind: keyof IssuerSources;
  readonly issuer: string;
  readonly about: keyof IssuerSource<unknown>;
}

/** A problem keeps its kind and reason on the way, which errors lose. */
export type IssuerAnswer =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problem: Pick<LoginProblem, 'kind' | 'reason' | 'message'> };

export async function answerAboutIssuer(
  sources: Readonly<Record<ConfiguredBy, IssuerSources>>,
  { configuredBy, kind, issuer, about }: IssuerQuestion,
): Promise<IssuerAnswer> {
  try {
    return { ok: true, value: await sources[configuredBy][kind](issuer)[about]() };
  } catch (error) {
    if (!(error instanceof LoginProblem)) throw error;
    const { kind: problemKind, reason, message } = error;
    return { ok: false, problem: { kind: problemKind, reason, message } };
  }
}

/** Issuers whose data another thread has. */
export function askedIssuers(
  configuredBy: ConfiguredBy,
  ask: (question: IssuerQuestion) => Promise<IssuerAnswer>,
): IssuerSources {
  const source = (kind: keyof IssuerSources, issuer: string): IssuerSource<never> => {
    const asked = async (about: keyof IssuerSource<unknown>): Promise<never> => {
      const answer = await ask({ configuredBy, kind, issuer, about });
      if (answer.ok) return answer.value as never;
      const { kind: problemKind, reason, message } = answer.problem;
      throw new LoginProblem(problemKind, reason, message);
    };
    return {
      metadata: () => asked('metadata'),
      keys: () => asked('keys'),
      newerKeys: () => asked('newerKeys'),
    };
  };
  return {
    provider: (issuer) => source('provider', issuer),
    tokenIssuer: (issuer) => source('tokenIssuer', issuer),
    tenantIssuer: (endpoint) => source('tenantIssuer', endpoint),
  };
}
