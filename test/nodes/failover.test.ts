import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterNode } from '../support/cluster/cluster-node.ts';
import { listedIds, until } from '../support/cluster.ts';
import { AWAY, FailoverWorld, LOST_COMMITS, statusOf } from './support/failover-world.ts';

// `test/long/failover.test.ts` has a standby that never lags.

test('every node reports what a standby lost that lagged behind, forgets it, and goes on', async (t) => {
  const world = await FailoverWorld.open(t, { isSynchronous: false });
  const { cluster, primary, standby, writers } = world;
  const [first] = cluster.nodes as [ClusterNode, ClusterNode];
  const kept = await first.site(await first.httpResponse('kept'));
  await standby.untilCaughtUp();
  await world.stopReplication();
  const lost = await first.site(await first.httpResponse('lost'));
  writers.start();
  await writers.more(10);
  for (const node of cluster.nodes) await until('served', async () => (await statusOf(node, lost.host)) === 200);
  await primary.end('SIGKILL');
  const lostIds = writers.acknowledged.map(({ id }) => id);
  await standby.promote();
  const recoveryMs = await writers.more(5);
  t.diagnostic(
    `written again on all nodes after ${Math.round(recoveryMs)} ms, slowest answer ${Math.round(writers.slowestMs)} ms`,
  );
  await writers.stop();
  for (const { outcome } of writers.failed) assert.match(outcome, AWAY);
  for (const node of cluster.nodes) {
    await until('the lost site is gone', async () => (await statusOf(node, lost.host)) !== 200);
    assert.equal(await statusOf(node, kept.host), 200);
    assert.equal(node.logged(LOST_COMMITS).length, 1);
    const listed = await listedIds(node, 'ip_policies');
    assert.deepEqual(
      lostIds.filter((id) => listed.has(id)),
      [],
    );
    const missing = writers.acknowledged.filter(({ id }) => !listed.has(id) && !lostIds.includes(id));
    assert.deepEqual(missing, []);
    const { body } = await node.send('GET', '/problems');
    const found = body.problems.find(({ message }: { readonly message: string }) => /lost commits/.test(message));
    assert.match(found?.message ?? '', /went back at .*standby/);
    assert.match(found.advice, /restart the server/);
  }
});
