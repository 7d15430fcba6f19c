// Process of test CAs: the list of trusted CAs is read once per process.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientHttp2Session, constants } from 'node:http2';
import { after, suite, test } from 'node:test';
import { EdgeWorld } from '../../support/edge-world.ts';
import { UpstreamAuthority } from '../settings/upstream-authority.ts';
import { meanwhileServed } from './support/honest-client.ts';
import { http2Upstream } from './support/http2-upstream.ts';
import { until } from './support/until.ts';

const REQUESTS = process.env['POSTERN_TEST_LONG'] === undefined ? 400 : 10_000;
const CLIENTS = 20;
/**
 * Clients, edge and upstream, all in this process; it does not grow with the number of requests (30,000 were tried).
 */
const MOST_MORE_BYTES = 256 << 20;
/** The runtime's limit for one session. */
const UPSTREAM_LIMIT = 1000;

const authority = await UpstreamAuthority.trusted({ after });
const upstream = await http2Upstream({ after }, await authority.issue());
const world = await EdgeWorld.open({ after });
const { host } = await world.site(await world.staticBackend(upstream.address, true));

/** Waits for the start of the response, and then cancels: a user who clicks on. */
async function cancelled(session: ClientHttp2Session): Promise<void> {
  const stream = session.request({ ':path': '/slow' });
  stream.on('error', () => {});
  await once(stream, 'response');
  stream.close(constants.NGHTTP2_CANCEL);
  await once(stream, 'close');
}

suite('legitimate clients that cancel', () => {
  test(`${REQUESTS} cancelled requests cost no other request its upstream connection`, async () => {
    const sessions = await Promise.all(Array.from({ length: CLIENTS }, () => world.http2(host)));
    const closed: ClientHttp2Session[] = [];
    for (const session of sessions) session.once('close', () => closed.push(session));
    await meanwhileServed(
      world,
      host,
      () =>
        Promise.all(
          sessions.map(async (session) => {
            for (let done = 0; done < REQUESTS / CLIENTS; done += 1) await cancelled(session);
          }),
        ),
      MOST_MORE_BYTES,
    );
    assert.deepEqual(upstream.errors, []);
    assert.equal(closed.length, 0, 'a client was sent away');
    assert.ok(upstream.mostResets < UPSTREAM_LIMIT / 4, `${upstream.mostResets} resets on one session`);
    // Not one per request either: a new connection is made for every burst.
    assert.ok(upstream.accepted < 2 + REQUESTS / 40, `${upstream.accepted} connections for ${REQUESTS}`);
    await until(() => upstream.open === 0, 'no stream is left');
    assert.doesNotMatch(await world.metrics(), /postern_edge_upstream_failures_total\{/);
    for (const session of sessions) session.destroy();
  });
});
