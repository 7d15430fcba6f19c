import { after } from 'node:test';
import { recordingUpstream } from '../../edge/traffic/recording-upstream.ts';
import { eventSourceSuite } from '../../support/clients/event-source-suite.ts';
import { webSocketUpstream } from '../../support/clients/web-socket-upstream.ts';
import { wsSuite } from '../../support/clients/ws-suite.ts';
import { shareOfCases } from '../../support/share-of-cases.ts';
import { TunnelWorld } from '../../support/tunnel-world.ts';
import { bothWays } from './ways.ts';

const sockets = await webSocketUpstream({ after });
const events = await recordingUpstream({ after });
const world = await TunnelWorld.open({ after });
const socketWays = await bothWays(world, { addr: sockets.address });
const eventWays = await bothWays(world, { addr: events.address });

for (const way of shareOfCases(socketWays, 0, 2)) wsSuite({ ...way, edge: world.edge, upstream: sockets });
for (const way of shareOfCases(eventWays, 1, 2)) eventSourceSuite({ ...way, edge: world.edge, upstream: events });
