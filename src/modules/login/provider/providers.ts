import { LruMap } from '../../../lib/lru-map.ts';
import type { OwnIssuer } from '../own-issuer.ts';
import { Provider, type ProviderPorts } from './provider.ts';

/** The least recently used are dropped; their holders keep using them. */
const MAX_PROVIDERS = 1_000;

/** One Provider per issuer, so that its clients on many routes share its data. */
export class Providers {
  readonly #ports: ProviderPorts;
  readonly #own: Pick<OwnIssuer, 'issuer' | 'fetch'> | null;
  readonly #known = new LruMap<string, Provider>(MAX_PROVIDERS);

  constructor(ports: ProviderPorts, own: Pick<OwnIssuer, 'issuer' | 'fetch'> | null = null) {
    this.#ports = ports;
    this.#own = own;
  }

  get(issuer: string): Provider {
    const known = this.#known.get(issuer);
    if (known !== undefined) return known;
    // Postern's own provider cannot be dialled: Postern makes no requests to itself.
    const own = this.#own?.issuer === issuer ? { fetch: this.#own.fetch } : {};
    const provider = new Provider(issuer, { ...this.#ports, ...own });
    this.#known.set(issuer, provider);
    return provider;
  }
}
