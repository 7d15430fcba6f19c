import type { JWTVerifyGetKey } from 'jose';
import { LruMap } from '../../../lib/lru-map.ts';
import { CachedResponse } from './cached-response.ts';
import { discoverKeySource, type KeySource } from './discovery.ts';
import { IssuerKeys } from './issuer-keys.ts';
import type { ProviderPorts } from './provider.ts';
import type { SigningIssuer } from './verify-token.ts';

const MINUTE_MS = 60_000;
const FLOOR_MS = 5_000;
const METADATA_REFRESH_MS = 60 * MINUTE_MS;
/** The least recently used are dropped; their holders keep using them. */
const MAX_ISSUERS = 1_000;

/** Cached data of one issuer of tokens for programs. */
export class TokenIssuer implements SigningIssuer {
  readonly issuer: string;
  readonly ports: ProviderPorts;
  readonly #source: CachedResponse<KeySource>;
  readonly #keys: IssuerKeys;

  constructor(issuer: string, ports: ProviderPorts) {
    this.issuer = issuer;
    this.ports = ports;
    const { clock, fetch } = ports;
    this.#source = new CachedResponse({
      load: () => discoverKeySource(issuer, ports),
      clock,
      refreshAfterMs: METADATA_REFRESH_MS,
      validForMs: Number.POSITIVE_INFINITY,
      floorMs: FLOOR_MS,
    });
    const url = async (): Promise<string> => (await this.metadata()).jwks_uri;
    // Anybody can send a token with an invented key id: a flood of them costs one request per minute.
    this.#keys = new IssuerKeys({ fetch, clock, url, floorMs: FLOOR_MS, reloadFloorMs: MINUTE_MS });
  }

  metadata(): Promise<KeySource> {
    return this.#source.get();
  }

  withKeys<Result>(verify: (keys: JWTVerifyGetKey) => Promise<Result>): Promise<Result> {
    return this.#keys.withKeys(verify);
  }
}

/** One per issuer, for all routes that accept its tokens. */
export class TokenIssuers {
  readonly #ports: ProviderPorts;
  readonly #known = new LruMap<string, TokenIssuer>(MAX_ISSUERS);

  constructor(ports: ProviderPorts) {
    this.#ports = ports;
  }

  get(issuer: string): TokenIssuer {
    const known = this.#known.get(issuer);
    if (known !== undefined) return known;
    const made = new TokenIssuer(issuer, this.#ports);
    this.#known.set(issuer, made);
    return made;
  }
}
