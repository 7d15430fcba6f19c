import type { BackendSnapshot, UpstreamAddress } from '../../backends/backend-snapshot.ts';
import { backendOfRecordKind } from '../../backends/record-kinds.ts';
import type { EdgeSnapshot } from '../../snapshot/edge-snapshot.ts';
import { upstreamKey } from '../forwarding/upstreams.ts';

/** How many edges refer to each upstream address, so that a pool is drained when the last one is removed. */
export class AddressesInUse {
  readonly #counts = new Map<string, number>();

  constructor(edges: Iterable<EdgeSnapshot>) {
    for (const edge of edges) this.#add(edge, 1);
  }

  /** Returns the addresses that nothing refers to any longer. */
  swap(before: EdgeSnapshot | null, now: EdgeSnapshot | null): readonly string[] {
    // New ones first: the count of an address that stays must not drop to zero in between.
    this.#add(now, 1);
    return this.#add(before, -1);
  }

  #add(edge: EdgeSnapshot | null, by: 1 | -1): readonly string[] {
    const released: string[] = [];
    for (const key of edge === null ? [] : addressesIn(edge)) {
      const count = (this.#counts.get(key) ?? 0) + by;
      if (count > 0) this.#counts.set(key, count);
      else {
        this.#counts.delete(key);
        released.push(key);
      }
    }
    return released;
  }
}

/** Every upstream that an edge's routes may use. */
function addressesIn(edge: EdgeSnapshot): ReadonlySet<string> {
  const keys = new Set<string>();
  const visited = new Set<string>();
  const visit = (backend: BackendSnapshot): void => {
    // Most routes of an edge share their backend.
    if (visited.has(backend.id)) return;
    visited.add(backend.id);
    for (const { address, isTls } of addressesOf(backend)) keys.add(upstreamKey(address, isTls));
    for (const member of backend.members.values()) visit(member);
  };
  for (const route of edge.routes.all) if (route.backend !== null) visit(route.backend);
  return keys;
}

/** A stored configuration that its kind cannot read names no upstream: its requests fail, the swap of edges must not. */
function addressesOf({ kind, config }: BackendSnapshot): readonly UpstreamAddress[] {
  try {
    return backendOfRecordKind(kind)?.upstreamAddresses?.(config as never) ?? [];
  } catch {
    return [];
  }
}
