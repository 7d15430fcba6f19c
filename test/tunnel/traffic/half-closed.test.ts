import { after } from 'node:test';
import { halfClosedSuite, silentService } from '../../support/clients/half-closed-suite.ts';
import { TunnelWorld } from '../../support/tunnel-world.ts';
import { bothWays } from './ways.ts';

const idleSeconds = 1;
const world = await TunnelWorld.open({ after }, { POSTERN_EDGE_IDLE_TIMEOUT: String(idleSeconds) });
const { edge } = world;
const service = await silentService({ after });
const site = await edge.site(await edge.staticBackend(service.address));

halfClosedSuite({ name: 'a static backend', host: site.host, edge, service, idleSeconds, hasFlow: true });
for (const { name, host } of await bothWays(world, { addr: service.address }))
  halfClosedSuite({ name, host, edge, service, idleSeconds });
