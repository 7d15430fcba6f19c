import type { WholeAnswer, WholeRequest } from '../lib/http/whole-request.ts';
import type { EdgeSnapshot } from './edge-snapshot.ts';
import { RouteTable } from './route-table.ts';

/** A host that the program serves itself, such as that of its identity provider. It gets whole requests. */
export interface OwnHost {
  /** Lower case, without the port. */
  readonly hostname: string;
  serve(request: WholeRequest): Promise<WholeAnswer>;
}

/** Its place among the edges: connections and certificates are found by its name, and no route has it. */
export function ownHostEdge(host: OwnHost): EdgeSnapshot {
  return {
    id: `own:${host.hostname}`,
    hosts: [host.hostname],
    tls: {},
    tlsGeneration: 'own',
    routes: new RouteTable([]),
    ownPathRoutes: [],
    problem: null,
    problems: [],
    ownHost: host,
  };
}
