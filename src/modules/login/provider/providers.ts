import { LruMap } from '../../../lib/lru-map.ts';
import { Provider, type ProviderPorts } from './provider.ts';

/** The least recently used are dropped; their holders keep using them. */
const MAX_PROVIDERS = 1_000;

/** One Provider per issuer, so that its clients on many routes share its data. */
export class Providers {
  readonly #ports: ProviderPorts;
  readonly #known = new LruMap<string, Provider>(MAX_PROVIDERS);

  constructor(ports: ProviderPorts) {
    this.#ports = ports;
  }

  get(issuer: string): Provider {
    const known = this.#known.get(issuer);
    if (known !== undefined) return known;
    const provider = new Provider(issuer, this.#ports);
    this.#known.set(issuer, provider);
    return provider;
  }
}
