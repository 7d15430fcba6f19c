import type { EdgeWorld, Site } from '../../support/edge-world.ts';

type Store = EdgeWorld['world']['store'];

/**
 * Writes records directly into the store, past the API's checks: as another version of the program, a restored backup
 * or a manual change might leave them. The edge must reject what it cannot read.
 */
export class StoredRecords {
  readonly #store: Store;

  constructor(world: EdgeWorld) {
    this.#store = world.world.store;
  }

  putRouteModule(site: Site, module: string, doc: object): Promise<void> {
    return this.put(`https_edge_route.${module}`, `${site.routeId}.${module}`, doc, site.routeId);
  }

  putEdgeModule(site: Site, module: string, doc: object): Promise<void> {
    return this.put(`https_edge.${module}`, `${site.edgeId}.${module}`, doc, site.edgeId);
  }

  async put(kind: string, id: string, doc: object, parent: string | null = null): Promise<void> {
    const put = { kind, id, parent, doc: doc as never, secrets: null, uniqueKeys: [], references: [] };
    const result = await this.#store.commit({ puts: [put] });
    if (!result.ok) throw new Error(`${kind} ${id} was not stored`);
  }
}
