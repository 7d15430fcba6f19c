import { FollowedReplica } from '../../src/store/replica/replica.ts';
import type { Change } from '../../src/store/store.ts';

export interface MemoryPut {
  readonly kind: string;
  readonly id: string;
  readonly parent: string | null;
  readonly doc: object;
}

/** Configuration that is nowhere else than in memory. */
export class MemoryReplica extends FollowedReplica {
  #revision = 0;

  override refresh(): Promise<void> {
    return Promise.resolve();
  }

  change(puts: readonly MemoryPut[], deletes: readonly { readonly kind: string; readonly id: string }[] = []): number {
    this.#revision += 1;
    const revision = this.#revision;
    const changes = [
      ...puts.map((each) => ({ op: 'put', record: { secrets: null, ...each, revision } })),
      ...deletes.map((key) => ({ op: 'delete', key, revision })),
    ] as unknown as readonly Change[];
    this.table.applyAll(changes);
    this.tell(changes);
    return revision;
  }
}

export const memoryId = (prefix: string, at: number): string => `${prefix}_${String(at).padStart(27, '0')}`;

/** An edge `site-<at>.example.com` with one route to a backend, and more records of the route. */
export function memorySite(
  at: number,
  backendId: string,
  more: (route: string) => readonly MemoryPut[] = () => [],
): readonly MemoryPut[] {
  const [edge, route] = [memoryId('edghts', at), memoryId('edghtsrt', at)];
  return [
    { kind: 'https_edge', id: edge, parent: null, doc: { hostports: [`site-${at}.example.com:443`] } },
    { kind: 'https_edge_route', id: route, parent: edge, doc: { match: '/', match_type: 'path_prefix' } },
    { kind: 'https_edge_route.backend', id: `${route}.backend`, parent: route, doc: { backend_id: backendId } },
    ...more(route),
  ];
}
