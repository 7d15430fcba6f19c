import { formatListenAddress, type ListenAddress } from '../../../kit/net/listen-address.ts';
import type { OpenedEdge } from '../edge.ts';
import type { RunningServer } from '../running-server.ts';

/** Where the server listens. */
export function listenedAddresses(listeners: {
  readonly api: ListenAddress;
  readonly edge: Pick<OpenedEdge, 'https' | 'http'> | null;
  readonly tunnel: ListenAddress | null;
  readonly peer: ListenAddress | null;
}): RunningServer['addresses'] {
  const { api, edge, tunnel, peer } = listeners;
  return {
    api,
    ...(edge && { edge: edge.https[0], edgeHttp: edge.http[0], edgeAll: edge.https, edgeHttpAll: edge.http }),
    ...(tunnel && { tunnel }),
    ...(peer && { peer }),
  };
}

/** The same in the line that says that the server is ready. */
export function readyAddresses({
  api,
  edge,
  edgeHttp,
  edgeAll,
  edgeHttpAll,
  tunnel,
  peer,
}: RunningServer['addresses']) {
  return {
    api: formatListenAddress(api),
    ...(edge && { edge: formatListenAddress(edge) }),
    ...(edgeHttp && { edge_http: formatListenAddress(edgeHttp) }),
    ...(edgeAll && { edge_all: edgeAll.map(formatListenAddress) }),
    ...(edgeHttpAll && { edge_http_all: edgeHttpAll.map(formatListenAddress) }),
    ...(tunnel && { tunnel: formatListenAddress(tunnel) }),
    ...(peer && { peer: formatListenAddress(peer) }),
  };
}
