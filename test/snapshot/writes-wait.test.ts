import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { EdgeWorld } from '../support/edge-world.ts';
import { isLong } from '../support/share-of-cases.ts';
import { hostOf, putSharedPolicyEdges, SHARED_RULE } from '../support/shared-policy-edges.ts';

const EDGES = isLong ? 400 : 150;

test('answers a write that affects hundreds of edges when all of them serve it', async (t) => {
  const world = await EdgeWorld.open(t);
  await putSharedPolicyEdges(world.world.store, EDGES);
  // The store responds before the edges are compiled; only the API waits for them.
  while ((await world.status(hostOf(EDGES - 1)).catch(() => 0)) !== 200) await sleep(10);
  const hosts = [0, EDGES / 2, EDGES - 1].map((at) => hostOf(at));
  const agents = hosts.map(() => world.agent());
  t.after(() => {
    for (const agent of agents) agent.destroy();
  });
  const statuses = (): Promise<readonly number[]> =>
    Promise.all(hosts.map((host, at) => world.status(host, '/', { agent: agents[at] })));
  // Connected before: a request right after the response must see the change.
  assert.deepEqual(await statuses(), [200, 200, 200]);
  await world.api('PATCH', `/ip_policy_rules/${SHARED_RULE}`, { cidr: '192.0.2.0/24' });
  assert.deepEqual(await statuses(), [403, 403, 403]);
});
