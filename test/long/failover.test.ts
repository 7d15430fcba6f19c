import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AWAY, FailoverWorld, FailoverWriters, LOST_COMMITS, statusOf } from '../nodes/support/failover-world.ts';
import { listedIds, until } from '../support/cluster.ts';

const ANSWERED_WITHIN_MS = 20_000;

/** Beside `test/nodes/failover.test.ts`, whose standby lags. */
test('no acknowledged write is lost with a primary that waits for its standby, nor when it comes back', async (t) => {
  const world = await FailoverWorld.open(t, { nodes: 3, isSynchronous: true });
  const { cluster, primary, standby, writers } = world;
  const { first } = cluster;
  const { host } = await first.site(await first.httpResponse('here'));
  for (const node of cluster.nodes) await until('served', async () => (await statusOf(node, host)) === 200);
  writers.start();
  await writers.more(20);
  await primary.end('SIGKILL');
  for (const node of cluster.nodes) assert.equal(await statusOf(node, host), 200);
  await until('every node rejects writes, and says why', () =>
    cluster.nodes.every(({ name }) =>
      writers.failed.some(({ node, outcome }) => node === name && /READ_ONLY.*it is a standby/.test(outcome)),
    ),
  );
  for (const node of cluster.nodes) {
    const { status, body } = await node.send('GET', '/healthz');
    assert.deepEqual([status, body.status], [200, 'degraded']);
  }
  await standby.promote();
  const recoveryMs = await writers.more(5);
  t.diagnostic(`written again after ${Math.round(recoveryMs)} ms, slowest answer ${Math.round(writers.slowestMs)} ms`);
  await writers.stop();
  for (const { outcome } of writers.failed) assert.match(outcome, AWAY);
  assert.ok(writers.slowestMs < ANSWERED_WITHIN_MS);
  for (const node of cluster.nodes) {
    const listed = await listedIds(node, 'ip_policies');
    assert.deepEqual(
      writers.acknowledged.filter(({ id }) => !listed.has(id)),
      [],
    );
    await until('healthy', async () => (await node.send('GET', '/healthz')).body.status === 'ready');
    assert.equal(node.logged(LOST_COMMITS).length, 0);
  }

  // The URL names it first, and nobody has fenced it.
  await primary.start();
  await first.kill();
  await first.start();
  const after = new FailoverWriters(cluster.nodes).start();
  t.after(() => after.stop());
  await after.more(20);
  await after.stop();
  for (const node of cluster.nodes) {
    await until('it has all writes of all nodes', async () => {
      const listed = await listedIds(node, 'ip_policies');
      return [...writers.acknowledged, ...after.acknowledged].every(({ id }) => listed.has(id));
    });
  }
});
