import { splitAddress } from '../../lib/net/host-name.ts';
import { SharedPlaces, type Shortage } from '../../lib/net/shared-places.ts';
import { DeadlineTicker } from '../../upstream/deadline-ticker.ts';
import { openUpstream } from '../../upstream/open-upstream.ts';
import type { Upstream, UpstreamLimits } from '../../upstream/upstream.ts';

export interface UpstreamGuards {
  isAddressAllowed(ip: string, port: number): boolean;
  /** Whether one more connection may be opened. Absent: always. */
  readonly hasRoom?: (() => boolean) | undefined;
  /** How many may be opened. Absent: as many as one likes. */
  readonly free?: (() => number) | undefined;
}

/** Connections to upstreams in use. They share the file descriptors of this process with everything else. */
class UpstreamConnections extends SharedPlaces {
  readonly #free: () => number;

  constructor(free: () => number) {
    super(Number.POSITIVE_INFINITY);
    this.#free = free;
  }

  override shortage(visitor?: string): Shortage | null {
    this.size = this.held + this.#free();
    return super.shortage(visitor);
  }
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
  readonly #connections: SharedPlaces | undefined;

  constructor(limits: UpstreamLimits, guards: UpstreamGuards) {
    this.#limits = limits;
    this.#guards = guards;
    this.#connections = guards.free === undefined ? undefined : new UpstreamConnections(guards.free);
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
      connections: this.#connections,
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
