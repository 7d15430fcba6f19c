import type { RecordReader } from '../replica/record-reader.ts';
import type { EdgeSnapshot } from './edge-snapshot.ts';
import { hostsOf } from './hosts-of.ts';
import { RouteTable } from './route-table.ts';

const EDGE_KIND = 'https_edge';

/** An edge that could not be compiled: it keeps its hosts, completes no handshake and has no route. */
export function refusingEdge(edgeId: string, reader: RecordReader, error: unknown): EdgeSnapshot | null {
  const record = reader.get(EDGE_KIND, edgeId);
  if (record === undefined) return null;
  const message = `the edge could not be compiled (${error instanceof Error ? error.message : 'unknown'})`;
  const problem = { module: 'edge', code: 'ERR_POSTERN_MODULE_UNAVAILABLE', message } as const;
  return {
    id: edgeId,
    hosts: hostsOf(record),
    tls: { clientAuthorities: [] },
    tlsGeneration: `refusing ${record.revision}`,
    routes: new RouteTable([]),
    ownPathRoutes: [],
    problem,
    problems: [problem],
  };
}
