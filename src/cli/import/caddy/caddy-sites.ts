import type { InstallationDocuments } from '../../../configuration-file/documents.ts';
import type { JsonObject, JsonValue } from '../../../lib/json.ts';

export interface SitePath {
  readonly matchType: 'exact_path' | 'path_prefix';
  readonly match: string;
}

export type SiteTarget =
  | { readonly kind: 'response'; readonly response: JsonObject }
  | {
      readonly kind: 'addresses';
      readonly addresses: readonly string[];
      readonly hasTls: boolean;
      readonly isOrdered: boolean;
    };

const PORT = 443;

/** Edges, routes and backends as the API would list them, with ids of their own. */
export class CaddySites {
  readonly #edges = new Map<string, { id: string; routes: JsonObject[] }>();
  readonly #backends = new Map<string, { listKey: string; document: JsonObject }>();
  #count = 0;

  /**
   * Null: a route without a backend, which answers 503. Without it a shorter path of the host would serve what was not carried
   * over. False when the host has a route for this path already, which wins.
   */
  add(host: string, { matchType, match }: SitePath, target: SiteTarget | null, isCompressed: boolean): boolean {
    const edge = this.#edges.get(host) ?? { id: this.#id('edghts'), routes: [] };
    this.#edges.set(host, edge);
    if (edge.routes.some((route) => route['match'] === match)) return false;
    edge.routes.push({
      id: this.#id('edghtsrt'),
      match_type: matchType,
      match,
      ...(target !== null && { backend: { enabled: true, backend_id: this.#target(target) } }),
      ...(isCompressed && { compression: { enabled: true } }),
    });
    return true;
  }

  documents(): InstallationDocuments {
    const edges = Array.from(this.#edges, ([host, edge]) => ({ ...edge, hostports: [`${host}:${PORT}`] }));
    const byList = Map.groupBy(this.#backends.values(), ({ listKey }) => listKey);
    const backends = Array.from(byList, ([listKey, own]) => [listKey, own.map(({ document }) => document)] as const);
    return { https_edges: edges, ...Object.fromEntries(backends) };
  }

  #target(target: SiteTarget): string {
    if (target.kind === 'response')
      return this.#backend('http_response_backends', 'bkdhr', 'response', target.response);
    const { addresses, hasTls, isOrdered } = target;
    const ids = addresses.map((address) =>
      this.#backend('static_backends', 'bkdsc', address, { address, tls: { enabled: hasTls } }),
    );
    const [only = ''] = ids;
    if (ids.length === 1) return only;
    const name = addresses.join(', ').slice(0, 200);
    if (isOrdered) return this.#backend('failover_backends', 'bkdfo', name, { backends: ids });
    return this.#backend('weighted_backends', 'bkdwd', name, {
      backends: Object.fromEntries(ids.map((id) => [id, 1])),
    });
  }

  #backend(listKey: string, prefix: string, description: string, fields: Readonly<Record<string, JsonValue>>): string {
    const key = JSON.stringify([listKey, fields]);
    const found = this.#backends.get(key);
    if (found !== undefined) return found.document['id'] as string;
    const id = this.#id(prefix);
    this.#backends.set(key, { listKey, document: { id, description, ...fields } });
    return id;
  }

  #id(prefix: string): string {
    this.#count += 1;
    return `${prefix}_${String(this.#count).padStart(27, '0')}`;
  }
}
