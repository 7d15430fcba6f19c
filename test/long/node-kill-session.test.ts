import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { Cluster, listedIds, until } from '../support/cluster.ts';
import { QUICK_TRIES } from '../tunnel/support/fault-world.ts';

const cluster = await Cluster.open({ after }, { nodes: 2 });
const [one, two] = [cluster.node(0), cluster.node(1)];
const agent = await cluster.agent([{ proto: 'https', addr: 1, domain: 'shared.localhost' }], {
  at: [one],
  timings: QUICK_TRIES,
});
await cluster.visible(agent);

suite('a session on two real servers', () => {
  test('kill -9 of a node costs the agent neither its session nor its tunnel', async (t) => {
    const ids = [agent.sessionId, agent.tunnels[0]?.id];
    const statuses: string[] = [];
    agent.on('status', ({ status }) => statuses.push(status));
    await one.kill();
    const tookMs = await until('the other node has both', async () => {
      const sessions = await listedIds(two, 'tunnel_sessions');
      const tunnels = await listedIds(two, 'tunnels');
      return (
        sessions.has(ids[0] ?? '') &&
        tunnels.has(ids[1] ?? '') &&
        two.logged('this node decides about a session from now on').length > 0
      );
    });
    t.diagnostic(`taken over after ${Math.round(tookMs)} ms`);
    assert.deepEqual([agent.sessionId, agent.tunnels[0]?.id], ids);
    assert.deepEqual(statuses, [], 'the agent noticed');
  });
});
