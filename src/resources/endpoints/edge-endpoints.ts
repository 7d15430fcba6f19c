import type { JsonObject } from '../../lib/json.ts';
import type { RecordReader } from '../../replica/record-reader.ts';
import type { StoredRecord } from '../../store/store.ts';
import { endpointId, firstIdOf, secondsOf } from './endpoint-id.ts';

const EDGE_KIND = 'https_edge';
const EDGE_PREFIX = 'edghts';
const EDGES_AT_ONCE = 100;
const LAST_SECOND = 2n ** 32n - 1n;

/** The same fields as a lease, from which the other endpoints are made. */
export interface EdgeEndpoint {
  readonly id: string;
  readonly doc: JsonObject;
}

/**
 * A page of the hostports of all edges, newest first. Edges are ordered by age and an endpoint has its edge's second,
 * so the walk ends with the second in which the page is full: its cost does not grow with the number of edges.
 */
export function pageOfEdgeEndpoints(
  reader: RecordReader,
  { beforeId, limit }: { readonly beforeId: string | null; readonly limit: number },
): readonly EdgeEndpoint[] {
  const found: EdgeEndpoint[] = [];
  let lastSecond: bigint | null = null;
  for (const edge of edgesUpTo(reader, beforeId === null ? null : secondsOf(beforeId))) {
    const { second, endpoints } = endpointsOf(edge);
    if (found.length >= limit && second !== lastSecond) break;
    lastSecond = second;
    for (const endpoint of endpoints) if (beforeId === null || endpoint.id < beforeId) found.push(endpoint);
  }
  return found.sort(newestFirst).slice(0, limit);
}

export function findEdgeEndpoint(reader: RecordReader, id: string): EdgeEndpoint | null {
  const second = secondsOf(id);
  if (second === null) return null;
  for (const edge of edgesUpTo(reader, second)) {
    const of = endpointsOf(edge);
    if (of.second !== second) return null;
    const found = of.endpoints.find((endpoint) => endpoint.id === id);
    if (found !== undefined) return found;
  }
  return null;
}

export function newestFirst(a: { readonly id: string }, b: { readonly id: string }): number {
  return a.id < b.id ? 1 : -1;
}

/**
 * Newest first, starting at the end of a second; null: all. A KSUID counts seconds in 32 bits, and 27 characters hold
 * more.
 */
function* edgesUpTo(reader: RecordReader, second: bigint | null): Generator<StoredRecord> {
  let beforeId = second === null || second >= LAST_SECOND ? null : firstIdOf(EDGE_PREFIX, second + 1n);
  for (;;) {
    const edges = reader.page(EDGE_KIND, { beforeId, limit: EDGES_AT_ONCE });
    yield* edges;
    if (edges.length < EDGES_AT_ONCE) return;
    beforeId = edges.at(-1)?.id ?? null;
  }
}

interface EndpointsOfEdge {
  readonly second: bigint | null;
  readonly endpoints: readonly EdgeEndpoint[];
}

/**
 * By the edge's document, which a change replaces. An id takes 10 µs, and edges of one changeset share their second: a
 * search among the endpoints of 10,000 edges made 250,000 ids, in 2.8 s.
 */
const known = new WeakMap<JsonObject, EndpointsOfEdge>();

function endpointsOf({ id: edgeId, doc }: StoredRecord): EndpointsOfEdge {
  const found = known.get(doc);
  if (found !== undefined) return found;
  const endpoints = (doc['hostports'] as readonly string[]).map((hostport) => ({
    id: endpointId(edgeId, hostport),
    doc: {
      created_at: doc['created_at'] ?? '',
      public_url: `https://${hostport.replace(/:443$/, '')}`,
      proto: 'https',
      hostport,
      type: 'edge',
      description: doc['description'] ?? '',
      metadata: doc['metadata'] ?? '',
      edge_id: edgeId,
    },
  }));
  const made = { second: secondsOf(edgeId), endpoints };
  known.set(doc, made);
  return made;
}
