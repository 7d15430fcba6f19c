import { splitAddress } from '../../lib/net/split-address.ts';
import { DeadlineTicker } from '../../upstream/deadline-ticker.ts';
import { openUpstream } from '../../upstream/open-upstream.ts';
import type { Upstream, UpstreamLimits } from '../../upstream/upstream.ts';

export interface UpstreamGuards {
  isAddressAllowed(ip: string, port: number): boolean;
  /** Whether one more connection may be opened. Absent: always. */
  readonly hasRoom?: (() => boolean) | undefined;
}

/**
 * One pool per address, shared by all backends that name it. When no snapshot names an address any longer, its pool is
 * drained: idle connections close, requests in progress finish.
 */
export class Upstreams {
  readonly #open = new Map<string, Upstream>();
  readonly #limits: UpstreamLimits;
  /** One timer for all deadlines. */
  readonly #ticker = new DeadlineTicker();
  readonly #guards: UpstreamGuards;

  constructor(limits: UpstreamLimits, guards: UpstreamGuards) {
    this.#limits = limits;
    this.#guards = guards;
  }

  get(address: string, isTls: boolean): Upstream {
    const key = upstreamKey(address, isTls);
    const known = this.#open.get(key);
    if (known !== undefined) return known;
    const { host, port } = splitAddress(address);
    const upstream = openUpstream({
      host,
      port,
      tls: isTls ? { servername: host } : null,
      limits: this.#limits,
      ticker: this.#ticker,
      isAddressAllowed: (ip) => this.#guards.isAddressAllowed(ip, port),
      hasRoom: this.#guards.hasRoom,
    });
    this.#open.set(key, upstream);
    return upstream;
  }

  /** Nothing refers to these any longer. */
  release(keys: readonly string[]): void {
    for (const key of keys) {
      const upstream = this.#open.get(key);
      this.#open.delete(key);
      void upstream?.drain();
    }
  }

  stats(): ReadonlyMap<string, { readonly idle: number; readonly active: number }> {
    return new Map(Array.from(this.#open, ([key, upstream]) => [key, upstream.stats()]));
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map((upstream) => upstream.drain()));
    this.#open.clear();
  }
}

export function upstreamKey(address: string, isTls: boolean): string {
  return `${isTls ? 'https' : 'http'}://${address}`;
}
