import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, suite, test } from 'node:test';
import { recordingUpstream } from '../../edge/traffic/recording-upstream.ts';
import type { ClusterNode } from '../../support/cluster/cluster-node.ts';
import { type Cluster, until } from '../../support/cluster.ts';
import { hostOf, QUICK_TRIES } from '../../tunnel/support/fault-world.ts';

const LISTS = ['tunnels', 'endpoints', 'tunnel_sessions'] as const;

/** What the API shows and does about an agent of another node. */
export function apiSuite(cluster: Cluster): void {
  const { first } = cluster;
  const [second, third] = [cluster.node(1), cluster.node(2)];

  const connected = async () => {
    const { address } = await recordingUpstream({ after });
    const agent = await cluster.agent(
      [
        { proto: 'https', addr: address },
        { proto: 'tcp', addr: address },
        { labels: { app: 'listed' }, addr: address },
      ],
      { at: [first], connections: 1, timings: QUICK_TRIES },
    );
    await cluster.visible(agent);
    return agent;
  };

  suite('the API about an agent of another node', () => {
    for (const list of LISTS) {
      test(`GET /${list} and each entry are the same on every node`, async () => {
        const before = new Set((await entriesOf(first, list)).map((entry) => entry['id']));
        const agent = await connected();
        const [here, ...there] = await Promise.all(cluster.nodes.map((node) => entriesOf(node, list)));
        for (const entries of there) assert.deepEqual(entries, here);
        const id = here?.find((entry) => !before.has(entry['id']))?.['id'] as string | undefined;
        assert.ok(id !== undefined);
        const [one, ...others] = await Promise.all(cluster.nodes.map((node) => node.api('GET', `/${list}/${id}`)));
        for (const other of others) assert.deepEqual(withoutOrigin(other), withoutOrigin(one));
        await agent.close();
        for (const node of cluster.nodes) {
          await until(`${node.name} no longer lists it`, async () =>
            (await entriesOf(node, list)).every((entry) => entry['id'] !== id),
          );
        }
      });
    }

    test('update reaches the agent from a node that it is not connected to', async () => {
      const agent = await connected();
      for (const node of [second, third]) {
        const commanded = once(agent, 'command');
        assert.equal((await node.send('POST', `/tunnel_sessions/${agent.sessionId}/update`, {})).status, 204);
        assert.equal((await commanded)[0].command, 'update');
      }
      await agent.close();
    });

    test('restart and stop reach the agent from a node that it is not connected to', async () => {
      const agent = await connected();
      const { sessionId } = agent;
      const host = hostOf(agent);
      const bound = once(agent, 'bound');
      assert.equal((await second.send('POST', `/tunnel_sessions/${sessionId}/restart`, {})).status, 204);
      await bound;
      assert.notEqual(agent.sessionId, sessionId);
      assert.equal(hostOf(agent), host);
      await cluster.visible(agent);
      const stopped = once(agent, 'status');
      assert.equal((await third.send('POST', `/tunnel_sessions/${agent.sessionId}/stop`, {})).status, 204);
      assert.equal((await stopped)[0].code, 'ERR_POSTERN_AGENT_STOPPED');
      await until('nobody knows the session', async () => {
        const answers = await Promise.all(
          cluster.nodes.map((node) => node.send('POST', `/tunnel_sessions/${agent.sessionId}/stop`, {})),
        );
        return answers.every(({ status }) => status === 404);
      });
    });

    test('an agent without remote management rejects commands from every node', async () => {
      const { address } = await recordingUpstream({ after });
      const agent = await cluster.agent([{ proto: 'https', addr: address }], {
        at: [first],
        connections: 1,
        remoteManagement: false,
      });
      await cluster.visible(agent);
      for (const node of [second, third]) {
        const { status, body } = await node.send('POST', `/tunnel_sessions/${agent.sessionId}/stop`, {});
        assert.deepEqual([status, body.error_code], [409, 'ERR_POSTERN_AGENT_REFUSES']);
      }
      await agent.close();
    });
  });
}

/** Sorted by id, without the address of the node that answered. */
async function entriesOf(node: ClusterNode, list: string): Promise<readonly Record<string, unknown>[]> {
  const page = await node.api('GET', `/${list}?limit=100`);
  return (withoutOrigin(page[list]) as Record<string, unknown>[]).toSorted((a, b) =>
    String(a['id']) < String(b['id']) ? -1 : 1,
  );
}

/** `uri` fields begin with the address of the node that answered. */
function withoutOrigin(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value).replaceAll(/http:\/\/127\.\d+\.\d+\.\d+:\d+/g, ''));
}
