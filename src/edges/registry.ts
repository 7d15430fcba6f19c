import type { EdgeKind } from './edge-kind.ts';
import { httpsEdge } from './https/https.ts';
import { tcpEdge } from './tcp/tcp.ts';
import { tlsEdge } from './tls/tls.ts';

/** Every kind of edge, in the order in which documentation lists them. */
export const edgeKinds: readonly EdgeKind[] = [httpsEdge, tcpEdge, tlsEdge];
