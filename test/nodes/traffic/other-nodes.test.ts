// Own process: takes long.
import { after } from 'node:test';
import { recordingUpstream } from '../../edge/traffic/recording-upstream.ts';
import { cancelSuite } from '../../support/clients/cancel-suite.ts';
import { eventSourceSuite } from '../../support/clients/event-source-suite.ts';
import { grpcUpstream } from '../../support/clients/grpc-service.ts';
import { grpcSuite } from '../../support/clients/grpc-suite.ts';
import { handshakeSuite } from '../../support/clients/handshake-suite.ts';
import { webSocketUpstream } from '../../support/clients/web-socket-upstream.ts';
import { wsSuite } from '../../support/clients/ws-suite.ts';
import { Cluster } from '../../support/cluster.ts';
import { Collector } from '../../tracing/collector.ts';
import { apiSuite } from './api-suite.ts';
import { farWays } from './far-ways.ts';
import { figuresSuite } from './figures-suite.ts';
import { http2SocketSuite, httpSuite } from './http-suite.ts';
import { modulesSuite } from './modules-suite.ts';
import { namesSuite } from './names-suite.ts';
import { rawSuite } from './raw-suite.ts';
import { traceSuite } from './trace-suite.ts';

/** Three real processes; agents are connected to the first, and clients to the two others. */
const upstream = await recordingUpstream({ after });
const sockets = await webSocketUpstream({ after });
const service = await grpcUpstream({ after }, null);
const collector = await Collector.open({ after });
const cluster = await Cluster.open(
  { after },
  { env: { POSTERN_AGENT_ISSUER_ALLOW_CIDRS: '127.0.0.0/8', POSTERN_OTEL_ENDPOINT: collector.url } },
);
const [httpWays, socketWays, grpcWays] = await Promise.all([
  farWays(cluster, { addr: upstream.address }),
  farWays(cluster, { addr: sockets.address }),
  farWays(cluster, { addr: `h2c://${service.address}` }),
]);

for (const way of httpWays) {
  httpSuite(way, upstream);
  handshakeSuite({ ...way, upstream });
  eventSourceSuite({ ...way, upstream });
  traceSuite(cluster, way, upstream, collector);
}
cancelSuite(httpWays[0]);
for (const way of socketWays) {
  wsSuite({ ...way, upstream: sockets });
  http2SocketSuite(way);
}
for (const way of grpcWays) grpcSuite({ ...way, service });
rawSuite(cluster);
modulesSuite(cluster, upstream);
apiSuite(cluster);
figuresSuite(cluster, upstream);
namesSuite(cluster);
