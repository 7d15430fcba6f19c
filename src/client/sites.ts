import type { HttpsEdgeRoute } from './generated/https-edge-routes.ts';
import type { HttpsEdge } from './generated/https-edges.ts';
import type { Resources } from './generated/resources.ts';

/**
 * The edge and the routes of a site: what people call a site is an HTTPS edge. Commands and pages for sites name that
 * kind here alone.
 */
export type SiteEdge = HttpsEdge;
export type SiteRoute = HttpsEdgeRoute;

export const SITE_EDGE = {
  kind: 'https_edge',
  idPrefix: 'edghts',
  /** Also the key of a list. */
  resource: 'https_edges',
  path: '/edges/https',
} as const;

export const SITE_ROUTE = {
  kind: 'https_edge_route',
  idPrefix: 'edghtsrt',
  resource: 'https_edge_routes',
  path: '/edges/https/{edge_id}/routes',
} as const;

/** The body of a list of edges. */
export type SiteEdges<Edge> = Readonly<Record<typeof SITE_EDGE.resource, readonly Edge[]>>;

export function siteEdgePath(edgeId: string): string {
  return `${SITE_EDGE.path}/${edgeId}`;
}

export function siteRoutePath(edgeId: string, routeId: string): string {
  return `${siteEdgePath(edgeId)}/routes/${routeId}`;
}

export function listSiteEdges(resources: Pick<Resources, 'httpsEdges'>): Promise<SiteEdge[]> {
  return Array.fromAsync(resources.httpsEdges.list());
}
