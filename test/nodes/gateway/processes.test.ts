import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { Cluster, listedIds, until } from '../../support/cluster.ts';
import { QUICK_TRIES } from '../../tunnel/support/fault-world.ts';

const cluster = await Cluster.open({ after }, { nodes: 2 });
const [one, two] = [cluster.node(0), cluster.node(1)];
const domain = 'shared.localhost';
/** Its first connection makes the first node the session's home; that node names the other one. */
const agent = await cluster.agent([{ proto: 'https', addr: 1, domain }], { at: [one], timings: QUICK_TRIES });

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
});
