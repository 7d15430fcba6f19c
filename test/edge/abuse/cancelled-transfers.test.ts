// Process of test CAs: the list of trusted CAs is read once per process.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { cancelSuite } from '../../support/clients/cancel-suite.ts';
import { isLong } from '../../support/share-of-cases.ts';
import { TunnelWorld } from '../../support/tunnel-world.ts';
import { UpstreamAuthority } from '../settings/upstream-authority.ts';
import { http2Upstream } from './support/http2-upstream.ts';
import { largeUpstream } from './support/large-upstream.ts';
import { until } from './support/until.ts';

/**
 * In the long form together more than the 64 MB that a connection once had; the runtime closes it after 1,000 resets at
 * once. In the short form src/kit/http2/sessions.test.ts holds that there is no such limit.
 */
const DOWNLOADS = isLong ? 990 : 150;
const DOWNLOADED_BYTES = 1 << 18;

const authority = await UpstreamAuthority.trusted({ after });
const secure = await http2Upstream({ after }, await authority.issue());
const upstream = await largeUpstream({ after });
const world = await TunnelWorld.open({ after });
const { edge } = world;
const { host } = await edge.site(await edge.staticBackend(upstream.address));
const { host: http2Host } = await edge.site(await edge.staticBackend(secure.address, true));
const agent = await world.agent([{ addr: upstream.address, proto: 'https' }]);

const ways = [
  { name: 'an HTTP/1.1 upstream', host },
  { name: 'an HTTP/2 upstream', host: http2Host },
  { name: 'a tunnel', host: new URL(agent.publicUrl ?? '').hostname },
];
for (const way of ways) cancelSuite({ ...way, edge });

suite('cancelled transfers', () => {
  test(`${DOWNLOADS} cancelled downloads leave a usable connection`, async () => {
    const session = await edge.http2(host, { settings: { initialWindowSize: 0 } });
    for (let n = 0; n < DOWNLOADS; n += 1) {
      const stream = session.request({ ':path': `/large/${DOWNLOADED_BYTES}` });
      const [headers] = await once(stream, 'response');
      assert.equal(headers[':status'], 200);
      stream.destroy();
    }
    const [headers] = await once(session.request({ ':path': '/' }), 'response');
    assert.equal(headers[':status'], 200);
    session.destroy();
  });

  test('an upload that was reset with NO_ERROR before the upstream read it ends at once', async () => {
    const session = await edge.http2(host);
    const stream = session.request({ ':method': 'POST', ':path': '/never' }, { endStream: false });
    stream.on('error', () => {});
    stream.write(Buffer.alloc(128 << 20));
    await until(() => isStalled(() => session.socket.bytesWritten), 'all windows and buffers are full');
    assert.ok(await isInFlight(1));
    stream.destroy();
    await until(() => isInFlight(0), 'the request has ended');
    session.destroy();
  });
});

async function isInFlight(count: number): Promise<boolean> {
  return (await edge.metrics()).includes(`\npostern_edge_requests_in_flight ${count}\n`);
}

/** The figure is not zero, and has not changed for a while. */
async function isStalled(figure: () => number): Promise<boolean> {
  const before = figure();
  await sleep(200);
  return before > 0 && figure() === before;
}
