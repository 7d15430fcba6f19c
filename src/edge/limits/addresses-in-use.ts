import type { BackendSnapshot, UpstreamAddress } from '../../backends/backend.ts';
import { backendOfRecordKind } from '../../backends/record-kinds.ts';
import type { EdgeSnapshot } from '../../snapshot/edge-snapshot.ts';
import { upstreamKey } from '../forwarding/upstreams.ts';

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

/** A stored configuration that its kind cannot read names no upstream: its requests fail, the swap of edges must not. */
function addressesOf({ kind, config }: BackendSnapshot): readonly UpstreamAddress[] {
  try {
    return backendOfRecordKind(kind)?.upstreamAddresses?.(config as never) ?? [];
  } catch {
    return [];
  }
}
