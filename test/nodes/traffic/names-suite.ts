import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, suite, test } from 'node:test';
import type { AgentHandle } from '../../../src/tunnel/agent/index.ts';
import { recordingUpstream } from '../../edge/traffic/recording-upstream.ts';
import { type Cluster, until } from '../../support/cluster.ts';
import { QUICK_TRIES } from '../../tunnel/support/fault-world.ts';

/** Names and ports have one owner on all nodes together. */
export function namesSuite(cluster: Cluster): void {
  const { first } = cluster;
  const [second, third] = [cluster.node(1), cluster.node(2)];

  suite('names across nodes', () => {
    test('refuses a name that an agent of another node has, and gives it away when that agent leaves', async () => {
      const domain = 'taken.localhost';
      const owner = await recordingUpstream({ after }, 'owner');
      const next = await recordingUpstream({ after }, 'next');
      const agent = await cluster.agent([{ proto: 'https', addr: owner.address, domain }], {
        at: [first],
        connections: 1,
      });
      await cluster.visible(agent);
      const { token, id } = await first.api('POST', '/credentials', {});
      await until(`${second.name} knows the credential`, async () => {
        const { credentials } = await second.api('GET', '/credentials');
        return credentials.some((each: { id: string }) => each.id === id);
      });
      const refused: AgentHandle[] = [];
      for (const [authtoken, node, words] of [
        [token, second, /another credential/],
        [cluster.token, third, /taken\.localhost/],
      ] as const) {
        const waiting = await cluster.agent([{ proto: 'https', addr: next.address, domain }], {
          at: [node],
          connections: 1,
          authtoken,
          timings: QUICK_TRIES,
        });
        assert.equal(waiting.tunnels[0]?.status, 'waiting', node.name);
        assert.match(waiting.tunnels[0]?.problem ?? '', words);
        refused.push(waiting);
      }
      for (const node of cluster.nodes) assert.equal(JSON.parse((await node.ask(domain)).text).name, 'owner');
      await refused[0]?.close();
      await agent.close();
      for (const node of cluster.nodes) {
        await until(`${node.name} serves the next owner`, async () => {
          // Between the two owners the name is unknown, or the page is an error.
          const answer = await node.ask(domain).catch(() => null);
          return answer?.status === 200 && JSON.parse(answer.text).name === 'next';
        });
      }
      await refused[1]?.close();
    });

    test('a kept connection of another node reaches an agent that was restarted', async () => {
      const domain = 'restarted.localhost';
      const { address } = await recordingUpstream({ after });
      const spec = { proto: 'https', addr: address, domain } as const;
      const before = await cluster.agent([spec], { at: [first], connections: 1 });
      await cluster.visible(before);
      const keeping = second.agent();
      after(() => keeping.destroy());
      const session = await third.http2(domain);
      const status2 = async (): Promise<number> => {
        const stream = session.request({ ':path': '/' });
        stream.resume();
        const [headers] = await once(stream, 'response');
        return Number(headers[':status']);
      };
      assert.deepEqual([await second.status(domain, '/', { agent: keeping }), await status2()], [200, 200]);
      await before.close();
      const now = await cluster.agent([spec], { at: [first], connections: 1 });
      await cluster.visible(now);
      assert.deepEqual([await second.status(domain, '/', { agent: keeping }), await status2()], [200, 200]);
      session.destroy();
      await now.close();
    });

    test('a TCP port is handed out once', async () => {
      const { address } = await recordingUpstream({ after });
      const agents: AgentHandle[] = [];
      for (const node of cluster.nodes) {
        for (let n = 0; n < 4; n += 1) {
          agents.push(await cluster.agent([{ proto: 'tcp', addr: address }], { at: [node], connections: 1 }));
        }
      }
      const ports = agents.map((agent) => (agent.publicUrl ?? '').split(':').at(-1));
      assert.equal(new Set(ports).size, agents.length, ports.join(' '));
      const wanted = Number(ports[0]);
      const { token } = await first.api('POST', '/credentials', {});
      const waiting = await cluster.agent([{ proto: 'tcp', addr: address, port: wanted }], {
        at: [third],
        connections: 1,
        authtoken: token,
      });
      assert.equal(waiting.tunnels[0]?.status, 'waiting');
      await Promise.all([waiting, ...agents].map((agent) => agent.close()));
    });

    test('random names that agents of all nodes get at once are different', async () => {
      const { address } = await recordingUpstream({ after });
      const agents = await Promise.all(
        Array.from({ length: 12 }, (_, n) =>
          cluster.agent([{ proto: 'https', addr: address }], { at: [cluster.node(n % 3)], connections: 1 }),
        ),
      );
      assert.equal(new Set(agents.map(({ publicUrl: url }) => url)).size, agents.length);
      await Promise.all(agents.map((agent) => agent.close()));
    });

    test('of two agents on two nodes that request a name at the same moment one gets it', async () => {
      const { address } = await recordingUpstream({ after });
      for (let round = 0; round < 5; round += 1) {
        const domain = `race-${round}.localhost`;
        const agents = await Promise.all(
          cluster.nodes.map((node) =>
            cluster.agent([{ proto: 'https', addr: address, domain }], { at: [node], connections: 1 }),
          ),
        );
        // The others ask again from time to time.
        const online = agents.filter((agent) => agent.tunnels[0]?.status === 'online');
        assert.equal(online.length, 1, agents.map((agent) => agent.tunnels[0]?.status).join(' '));
        await Promise.all(agents.map((agent) => agent.close()));
      }
    });

    test('an edge cannot take the name of a tunnel of another node', async () => {
      const { address } = await recordingUpstream({ after });
      const domain = 'live-elsewhere.localhost';
      const agent = await cluster.agent([{ proto: 'https', addr: address, domain }], { at: [first], connections: 1 });
      await cluster.visible(agent);
      for (const node of [second, third]) {
        const { status, body } = await node.send('POST', '/edges/https', { hostports: [`${domain}:443`] });
        assert.equal(status, 409, JSON.stringify(body));
      }
      await agent.close();
    });
  });
}
