import assert from 'node:assert/strict';
import { text } from 'node:stream/consumers';
import { after, suite, test } from 'node:test';
import { freePortsOn } from '../../support/cluster/own-addresses.ts';
import { Wire } from '../../support/cluster/wire.ts';
import { EdgeClients } from '../../support/edge-clients.ts';
import { TunnelWorld } from '../../support/tunnel-world.ts';
import { recordingUpstream } from './recording-upstream.ts';

const ONE_WAY_MS = 50;
const BYTES = 8_000_000;
/** The window that HTTP/2 starts with: a client that must keep to it never has more on the way. */
const FIRST_WINDOW = 65_535;

const upstream = await recordingUpstream({ after });
upstream.answer = (request, response) => {
  let bytes = 0;
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
  });
  request.on('end', () => response.end(String(bytes)));
};
const world = await TunnelWorld.open({ after });
const { edge } = world;
const { host } = await edge.site(await edge.staticBackend(upstream.address));
const agent = await world.agent([{ addr: upstream.address, proto: 'https' }]);
const [port = 0] = await freePortsOn('127.0.0.1', 1);
const wire = await Wire.open({ after }, { host: '127.0.0.1', port }, { host: '127.0.0.1', port: edge.port });
wire.delay('', ONE_WAY_MS);
const far = new EdgeClients({ address: '127.0.0.1', port, ca: edge.ca });

suite(`uploads over HTTP/2 from ${ONE_WAY_MS} ms away`, () => {
  for (const [way, at] of [
    ['a static backend', host],
    ['a tunnel', new URL(agent.publicUrl ?? '').hostname],
  ] as const) {
    for (const count of [1, 3]) {
      test(`${count} × ${BYTES} bytes to ${way} do not wait for a window at each round trip`, async (t) => {
        const session = await far.http2(at, { maxSessionMemory: 1000 });
        wire.takeMostInFlight();
        const uploads = Array.from({ length: count }, async () => {
          const stream = session.request({ ':method': 'POST', ':path': '/' });
          stream.end(Buffer.alloc(BYTES));
          return text(stream);
        });
        assert.deepEqual(
          await Promise.all(uploads),
          Array.from({ length: count }, () => String(BYTES)),
        );
        const most = wire.takeMostInFlight();
        t.diagnostic(`at most ${most} bytes on the way`);
        assert.ok(most > 4 * FIRST_WINDOW, `at most ${most} bytes on the way`);
        session.destroy();
      });
    }
  }
});
