import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { Cluster, listedIds, until } from '../../support/cluster.ts';
import { QUICK_TRIES } from '../../tunnel/support/fault-world.ts';

const cluster = await Cluster.open({ after }, { nodes: 2 });
const [one, two] = [cluster.node(0), cluster.node(1)];
const domain = 'shared.localhost';
const agent = await cluster.agent([{ proto: 'https', addr: 1, domain }], { timings: QUICK_TRIES });

suite('real servers share sessions and names', () => {
  test('every node lists the same session and tunnel, and carries out its actions', async () => {
    await cluster.visible(agent);
    await until('both list the session', async () => {
      const lists = await Promise.all([one, two].map((node) => listedIds(node, 'tunnel_sessions')));
      return lists.every((ids) => [...ids].join() === agent.sessionId);
    });
    const commands: string[] = [];
    agent.on('command', ({ command }) => commands.push(command));
    for (const node of [one, two]) await node.api('POST', `/tunnel_sessions/${agent.sessionId}/update`, {});
    assert.deepEqual(commands, ['update', 'update']);
  });

  test('a name that is held on one node is refused on the other, by name', async () => {
    const newcomer = await cluster.agent([{ proto: 'https', addr: 1, domain }], { at: [two], connections: 1 });
    assert.equal(newcomer.tunnels[0]?.status, 'waiting');
    assert.match(
      newcomer.tunnels[0]?.problem ?? '',
      new RegExp(`${domain} is held by another agent.*${agent.sessionId}`),
    );
    await newcomer.close();
    const answer = await two.send('POST', '/edges/https', { hostports: [`${domain}:443`] });
    assert.equal(answer.status, 409);
  });

  test('kill -9 of a node costs the agent neither its session nor its tunnel', async (t) => {
    // The first node hears of the second a moment after it is ready, and agents move a connection a while after that.
    await until('the agent is on both nodes', () => agent.nodes.length === 2);
    const ids = [agent.sessionId, agent.tunnels[0]?.id];
    const statuses: string[] = [];
    agent.on('status', ({ status }) => statuses.push(status));
    const lonely = await Promise.all(
      [1, 2, 3].map(() => cluster.agent([{ proto: 'https', addr: 1 }], { at: [one, two], connections: 1 })),
    );
    const sessions = lonely.map(({ sessionId }) => sessionId);
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
    const lonelyMs = await until('agents with one connection are back', async () => {
      const tunnels = await listedIds(two, 'tunnels');
      return lonely.every((each) => each.status === 'online' && tunnels.has(each.tunnels[0]?.id ?? ''));
    });
    t.diagnostic(`agents with one connection are back after ${Math.round(tookMs + lonelyMs)} ms`);
    assert.deepEqual(
      lonely.map(({ sessionId }) => sessionId),
      sessions,
    );
  });
});
