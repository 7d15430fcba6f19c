import { type EdgeApi, type EdgeKind, edgeRecordKindOf, type RouteKind, routeRecordKindOf } from './edge-kind.ts';
import { edgeKinds } from './registry.ts';

/** A kind with records. */
export type StoredEdgeKind = EdgeKind & { readonly api: EdgeApi };
/** A kind whose edges have routes, so that requests pass them. */
export type RoutedEdgeKind = StoredEdgeKind & { readonly routes: RouteKind };

export function isStored(kind: EdgeKind): kind is StoredEdgeKind {
  return kind.api !== null;
}

export function isRouted(kind: StoredEdgeKind): kind is RoutedEdgeKind {
  return kind.routes !== null;
}

export const storedEdgeKinds = edgeKinds.filter(isStored);
export const routedEdgeKinds = storedEdgeKinds.filter(isRouted);

/** Record kinds of a field that accepts any edge. */
export const edgeRecordKinds: readonly string[] = storedEdgeKinds.map(edgeRecordKindOf);
/** Record kinds of edges that serve requests. */
export const routedRecordKinds: readonly string[] = routedEdgeKinds.map(edgeRecordKindOf);
export const routeRecordKinds: readonly string[] = routedEdgeKinds.map(routeRecordKindOf);
/** Prefixes of the ids of edges that serve requests, and of their routes. */
export const edgeIdPrefixes: readonly string[] = routedEdgeKinds.map(({ api }) => api.idPrefix);
export const routeIdPrefixes: readonly string[] = routedEdgeKinds.map(({ routes }) => routes.idPrefix);

const byRecordKind = new Map(storedEdgeKinds.map((kind) => [edgeRecordKindOf(kind), kind]));

export function edgeKindOfRecord(recordKind: string): StoredEdgeKind | undefined {
  return byRecordKind.get(recordKind);
}

interface Reads<Found> {
  get(kind: string, id: string): Found | undefined;
}

/** The record of an edge. */
export function edgeRecord<Found>(reader: Reads<Found>, id: string): Found | undefined {
  return firstOf(reader, edgeRecordKinds, id);
}

/** The record of a route. */
export function routeRecord<Found>(reader: Reads<Found>, id: string): Found | undefined {
  return firstOf(reader, routeRecordKinds, id);
}

function firstOf<Found>(reader: Reads<Found>, kinds: readonly string[], id: string): Found | undefined {
  for (const kind of kinds) {
    const found = reader.get(kind, id);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The path of an edge in the API, or of a route of it. */
export function edgePath(edgeId: string, routeId?: string): string {
  const kind = storedEdgeKinds.find(({ api }) => edgeId.startsWith(`${api.idPrefix}_`));
  const path = `/edges/${kind?.name ?? ''}/${edgeId}`;
  return routeId === undefined ? path : `${path}/routes/${routeId}`;
}
