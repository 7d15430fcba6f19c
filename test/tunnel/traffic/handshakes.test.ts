import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, test } from 'node:test';
import { recordingUpstream } from '../../edge/traffic/recording-upstream.ts';
import { handshakeSuite } from '../../support/clients/handshake-suite.ts';
import { TunnelWorld } from '../../support/tunnel-world.ts';
import { bothWays } from './ways.ts';

const upstream = await recordingUpstream({ after });
const world = await TunnelWorld.open({ after });
const { edge } = world;
const site = await edge.site(await edge.staticBackend(upstream.address));
const ways = await bothWays(world, { addr: upstream.address });

handshakeSuite({ name: 'a static backend', edge, host: site.host, upstream });
for (const { name, host } of ways) handshakeSuite({ name, edge, host, upstream });

/** The status of an extended CONNECT. */
async function handshake(host: string, path = '/'): Promise<number> {
  const session = await edge.http2(host);
  const stream = session.request(
    { ':method': 'CONNECT', ':protocol': 'websocket', ':scheme': 'https', ':path': path, ':authority': host },
    { endStream: false },
  );
  stream.on('error', () => {});
  const [headers] = await once(stream.resume(), 'response');
  session.destroy();
  return Number(headers[':status']);
}

test('a response of the edge itself does not look like an open WebSocket', async () => {
  const fixed = await edge.site(await edge.httpResponse('x'.repeat(2000)));
  assert.equal(await handshake(fixed.host), 502);
  await edge.api('PUT', `${fixed.routePath}/compression`, {});
  assert.equal(await handshake(fixed.host), 502);
  assert.equal(await edge.status(fixed.host), 200);
});
