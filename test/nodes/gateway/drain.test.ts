import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import type { AgentHandle } from '../../../src/tunnel/agent/index.ts';
import { type Answer, answerOf } from '../../agent/support/fake-gateway.ts';
import { eventually, localHttp } from '../../tunnel/support/fault-world.ts';
import { type ClusterNode, GatewayCluster } from '../support/gateway-cluster.ts';
import { sharedStore } from '../support/shared-store.ts';

const store = await sharedStore({ after });

async function ask({ table }: ClusterNode, id: string, path: string): Promise<Answer> {
  const link = table.get(id)?.link() ?? null;
  assert.ok(link !== null, 'nothing leads to the tunnel');
  const pseudo = [':method', 'GET', ':scheme', 'https', ':authority', 'app.test', ':path', path];
  const stream = link.request([...pseudo, 'postern-tunnel', id], { endStream: true, waitForTrailers: false });
  stream.on('error', () => {}).once('close', () => link.release(stream));
  return answerOf(stream);
}

function namesOf(agent: AgentHandle): readonly string[] {
  return agent.nodes.map(({ name }) => name);
}

function homesOf(cluster: GatewayCluster): ReadonlySet<string> {
  const homes = cluster.nodes.flatMap(({ announced, membership }) =>
    membership.isPaused ? [] : [...announced.sessions.values()].map(({ homeNodeId }) => homeNodeId),
  );
  return new Set(homes);
}

suite('a node that stops', () => {
  test('hands its sessions over, one node after the other: no agent goes offline, no request is lost', async (t) => {
    const cluster = await GatewayCluster.open(t, store, 3);
    const [first] = cluster.nodes;
    assert.ok(first);
    const waiting: (() => void)[] = [];
    const port = await localHttp(t, (request, response) => {
      if (request.url === '/slow') waiting.push(() => response.end('done'));
      else response.end('here');
    });
    const tunnels = [{ proto: 'https' as const, addr: `127.0.0.1:${port}`, domain: 'drain.gateway.test' }];
    const agent = cluster.agent(first, { tunnels });
    await agent.ready;
    const [id] = agent.tunnels.map((tunnel) => tunnel.id ?? '');
    assert.ok(id);
    const { sessionId } = agent;
    const statuses: string[] = [];
    agent.on('status', ({ status }) => statuses.push(status));
    await eventually('two nodes serve it', () => cluster.serving(id).length === 2 && agent.nodes.length === 2);
    for (const node of [...cluster.nodes]) {
      const wasServing: boolean = cluster.serving(id).includes(node.id);
      node.membership.status = 'draining';
      await node.membership.renew();
      const slow: Promise<Answer> | null = wasServing ? ask(node, id, '/slow') : null;
      if (wasServing) await eventually('the request has arrived', () => waiting.length === 1);
      const served: readonly ClusterNode[] = cluster.nodes.filter((each) => cluster.serving(id).includes(each.id));
      const gaps: string[] = [];
      const sampling = setInterval(() => {
        for (const each of served) if (!cluster.serving(id).includes(each.id)) gaps.push(each.id);
      }, 1);
      t.after(() => clearInterval(sampling));
      node.gateway.sendAway();
      const movedMs = await eventually('its sessions have moved', () => node.gateway.unmoved === 0);
      t.diagnostic(`${node.id} was ${wasServing ? '' : 'not '}serving; moved after ${Math.round(movedMs)} ms`);
      await eventually('one home', () => homesOf(cluster).size === 1);
      for (const each of served) assert.equal((await ask(each, id, '/')).body, 'here', 'visitors are still served');
      clearInterval(sampling);
      assert.deepEqual(gaps, [], 'a node that was serving stopped for a moment');
      const drained = node.gateway.drain(5_000);
      for (const release of waiting.splice(0)) release();
      if (slow !== null) assert.equal((await slow).body, 'done');
      await drained;
      node.kill();
      const serving: readonly string[] = cluster.serving(id);
      assert.ok(serving.length > 0);
      for (const other of cluster.nodes) {
        if (serving.includes(other.id)) assert.equal((await ask(other, id, '/')).body, 'here');
      }
      await cluster.start();
      await eventually('the agent is on two nodes again', () => {
        const running = cluster.nodes.filter(({ membership }) => !membership.isPaused).map(({ id: nodeId }) => nodeId);
        return namesOf(agent).length === 2 && namesOf(agent).every((name) => running.includes(name));
      });
    }
    assert.deepEqual(statuses, [], 'the agent noticed');
    assert.deepEqual([agent.sessionId, agent.tunnels[0]?.id], [sessionId, id]);
    assert.equal(homesOf(cluster).size, 1, 'one home');
  });
});
