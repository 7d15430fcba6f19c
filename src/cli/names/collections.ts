import type { OperationDescription } from '../api/operation-list.ts';
import { kebab, listItems, resourceName } from '../api/resource-names.ts';

/** A list of the API whose items have ids. */
export interface Collection {
  /** As references name it: `https_edge`. */
  readonly kind: string;
  /** With parameters: `/edges/https/{edge_id}/routes`. */
  readonly path: string;
  readonly listKey: string;
  /** Pattern of its ids. */
  readonly idPattern: string | null;
  /** Whether its items are created by the API, not by agents or traffic. */
  readonly isConfigured: boolean;
  /** Whether the list has the parameter q. */
  readonly isSearchable: boolean;
}

export function collectionsOf(operations: readonly OperationDescription[]): readonly Collection[] {
  const created = new Set(operations.filter(({ verb }) => verb === 'create').map(({ path }) => path));
  return operations.flatMap((operation): readonly Collection[] => {
    const list = listItems(operation);
    if (list === null) return [];
    const { before_id: cursor } = (operation.query?.properties ?? {}) as Record<string, { readonly pattern?: string }>;
    return [
      {
        kind: singular(resourceName(operation)),
        path: operation.path,
        listKey: list.key,
        idPattern: cursor?.pattern ?? null,
        isConfigured: cursor !== undefined && created.has(operation.path),
        isSearchable: operation.query?.properties['q'] !== undefined,
      },
    ];
  });
}

/** For messages: `HTTPS edge` is `https edge`. */
export function kindText(kind: string): string {
  return kebab(kind).replaceAll('-', ' ');
}

function singular(resource: string): string {
  return resource.endsWith('ies') ? `${resource.slice(0, -3)}y` : resource.replace(/s$/, '');
}
