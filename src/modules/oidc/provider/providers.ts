import { LruMap } from '../../../lib/lru-map.ts';
import { Provider, type ProviderPorts } from './provider.ts';

/** Those used least recently are forgotten; whoever still holds one goes on with it. */
const MAX_PROVIDERS = 1_000;

/** One Provider per issuer, so that its clients on many routes share what is known of it. */
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
