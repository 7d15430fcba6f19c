import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, suite, test } from 'node:test';
import { openVisitors } from '../edge/traffic/open-visitors.ts';
import { ownAddresses } from '../support/cluster/own-addresses.ts';
import { eventually } from '../tunnel/support/fault-world.ts';

/** `src/kit/net/sockets.ts`: a minute of silence, and a minute of questions. */
const VANISHED_AFTER_MS = 120_000;
/** A busy machine notices its timers late. */
const SLACK_MS = 10_000;
const [address = ''] = ownAddresses(1);
const route = (action: 'add' | 'del') =>
  spawnSync('ip', ['route', action, 'blackhole', `${address}/32`, 'table', 'local']);
const mayRoute = route('add').status === 0 && route('del').status === 0;

/** The full form of `test/edge/traffic/vanished-visitors.test.ts`. */
suite('visitors whose machine vanishes', { skip: !mayRoute && 'routes cannot be changed here' }, async () => {
  const { world, upstream, sockets } = await openVisitors({ after }, address);
  const { edge } = world;

  test('are forgotten, with all that they held, and nobody else is disturbed', async (t) => {
    const { host } = await edge.site(await edge.staticBackend(upstream.address));
    assert.equal(upstream.sockets.size, sockets.size);
    route('add');
    t.after(() => void route('del'));
    const ms = await eventually(
      'nothing is left',
      async () => {
        const figures = await edge.metrics();
        return upstream.sockets.size === 0 && /^postern_edge_streams_in_flight 0$/m.test(figures);
      },
      VANISHED_AFTER_MS + SLACK_MS,
    );
    t.diagnostic(`noticed after ${Math.round(ms)} ms`);
    upstream.answer = null;
    assert.equal(await edge.status(host), 200);
  });
});
