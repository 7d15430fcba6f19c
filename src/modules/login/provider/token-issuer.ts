import type { JWTVerifyGetKey } from 'jose';
import { discoverKeySource, type KeySource } from './discovery.ts';
import { IssuerKeys } from './issuer-keys.ts';
import { FetchedIssuer, type IssuerSource } from './issuer-source.ts';
import type { ProviderPorts } from './provider.ts';
import type { SigningIssuer } from './verify-token.ts';

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

export function fetchedTokenIssuer(issuer: string, ports: ProviderPorts): IssuerSource<KeySource> {
  const { fetch, clock } = ports;
  return new FetchedIssuer({
    fetch,
    clock,
    discover: () => discoverKeySource(issuer, ports),
    reloadFloorMs: RELOAD_FLOOR_MS,
  });
}
