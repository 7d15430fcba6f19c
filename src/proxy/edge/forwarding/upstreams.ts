import type { BackendSnapshot, UpstreamAddress } from '../../../backends/backend.ts';
import { backendOfRecordKind } from '../../../backends/record-kinds.ts';
import { splitAddress } from '../../../kit/net/host-name.ts';
import { SharedPlaces, type Shortage } from '../../../kit/net/shared-places.ts';
import type { EdgeSnapshot } from '../../snapshot/edge-snapshot.ts';
import { DeadlineTicker } from '../../upstream/deadline-ticker.ts';
import { openUpstream } from '../../upstream/open-upstream.ts';
import type { Upstream, UpstreamLimits } from '../../upstream/upstream.ts';

interface UpstreamGuards {
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

function upstreamKey(address: string, isTls: boolean): string {
  return `${isTls ? 'https' : 'http'}://${address}`;
}

/** How many backends in use refer to each upstream address, so that a pool is drained when the last one is removed. */
export class AddressesInUse {
  readonly #counts = new Map<string, number>();
  /** How many edges and backends refer to each backend: edges share them, and those of many targets are walked once. */
  readonly #uses = new Map<BackendSnapshot, number>();

  constructor(edges: Iterable<EdgeSnapshot>) {
    for (const edge of edges) for (const backend of backendsOf(edge)) this.#use(backend);
  }

  /** Returns the addresses that nothing refers to any longer. */
  swap(before: EdgeSnapshot | null, now: EdgeSnapshot | null): readonly string[] {
    // New ones first: the count of an address that stays must not drop to zero in between.
    for (const backend of backendsOf(now)) this.#use(backend);
    const released: string[] = [];
    for (const backend of backendsOf(before)) this.#release(backend, released);
    return released;
  }

  #use(backend: BackendSnapshot): void {
    const uses = this.#uses.get(backend) ?? 0;
    this.#uses.set(backend, uses + 1);
    if (uses > 0) return;
    for (const key of keysOf(backend)) this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
    for (const member of backend.members.values()) this.#use(member);
  }

  #release(backend: BackendSnapshot, released: string[]): void {
    const left = (this.#uses.get(backend) ?? 0) - 1;
    if (left > 0) {
      this.#uses.set(backend, left);
      return;
    }
    this.#uses.delete(backend);
    for (const key of keysOf(backend)) {
      const count = (this.#counts.get(key) ?? 0) - 1;
      if (count > 0) this.#counts.set(key, count);
      else {
        this.#counts.delete(key);
        released.push(key);
      }
    }
    for (const member of backend.members.values()) this.#release(member, released);
  }
}

/** Most routes of an edge share their backend. */
function backendsOf(edge: EdgeSnapshot | null): ReadonlySet<BackendSnapshot> {
  const backends = new Set<BackendSnapshot>();
  for (const { backend } of edge?.routes.all ?? []) if (backend !== null) backends.add(backend);
  return backends;
}

function keysOf(backend: BackendSnapshot): readonly string[] {
  return addressesOf(backend).map(({ address, isTls }) => upstreamKey(address, isTls));
}

/**
 * A stored configuration that its kind cannot read names no upstream: its requests fail, the swap of edges must not.
 */
function addressesOf({ kind, config }: BackendSnapshot): readonly UpstreamAddress[] {
  try {
    return backendOfRecordKind(kind)?.upstreamAddresses?.(config as never) ?? [];
  } catch {
    return [];
  }
}
