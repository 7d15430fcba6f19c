import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Cluster, until } from '../support/cluster.ts';
import { hostOf, localHttp } from '../tunnel/support/fault-world.ts';

const AGENTS = 6;
const OUTAGE_MS = 8_000;

suite('the database is away from all nodes', async () => {
  const cluster = await Cluster.open({ after }, { hasWires: true });

  for (const state of ['cut', 'black-hole'] as const) {
    test(`${state}: tunnels are served on every node, and agents come back afterwards`, async (t) => {
      const addr = await localHttp(t, (_request, response) => response.end('here'));
      const agents = await Promise.all(
        Array.from({ length: AGENTS }, () => cluster.agent([{ proto: 'https', addr }], { at: cluster.nodes })),
      );
      await until('each is on two nodes', () => agents.every(({ nodes }) => nodes.length === 2));
      for (const agent of agents) await cluster.visible(agent);
      const codes: (string | null | undefined)[] = [];
      for (const agent of agents) agent.on('status', ({ code }) => codes.push(code));
      const ids = agents.map(({ sessionId, tunnels }) => [sessionId, tunnels[0]?.id]);
      for (const node of cluster.nodes) cluster.setDatabaseLink(node, state);
      const failed: string[] = [];
      let answered = 0;
      for (const node of cluster.nodes) {
        for (const list of ['tunnels', 'endpoints', 'tunnel_sessions', 'nodes']) {
          const { status, body } = await node.send('GET', `/${list}`);
          assert.deepEqual([status, body[list]?.length], [200, list === 'nodes' ? 3 : AGENTS], `${node.name} ${list}`);
        }
      }
      const endsAtMs = performance.now() + OUTAGE_MS;
      while (performance.now() < endsAtMs) {
        for (const agent of agents) {
          for (const node of cluster.nodes) {
            const answer = await node.ask(hostOf(agent)).catch((error: Error) => ({ status: 0, text: error.message }));
            if (answer.text === 'here') answered += 1;
            else failed.push(`${node.name} ${answer.status} ${answer.text.slice(0, 80)}`);
          }
        }
        await sleep(100);
      }
      for (const node of cluster.nodes) cluster.setDatabaseLink(node, 'open');
      const backMs = await until('every node serves every tunnel', async () => {
        for (const agent of agents) {
          for (const node of cluster.nodes) if ((await node.ask(hostOf(agent))).text !== 'here') return false;
        }
        return true;
      });
      console.log(`${state}: ${answered} answered, ${failed.length} failed, all served ${Math.round(backMs)} ms later`);
      if (failed.length > 0) for (const node of cluster.nodes) console.log(node.name, warningsOf(node.allOutput()));
      await until('each is on two nodes again', () => agents.every(({ nodes }) => nodes.length === 2));
      assert.ok(!codes.includes('ERR_POSTERN_AGENT_CONNECTIONS'), codes.join());
      assert.deepEqual(
        agents.map(({ sessionId, tunnels }) => [sessionId, tunnels[0]?.id]),
        ids,
      );
      assert.deepEqual(failed, []);
      await cluster.closeAgents();
    });
  }
});

/** For the search after a failed run. */
function warningsOf(output: string): string {
  const lines = output.split('\n').filter((line) => /"level":"(?:warn|error)"|decides about|lease/.test(line));
  return lines.map((line) => line.slice(0, 240)).join('\n');
}
