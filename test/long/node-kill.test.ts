import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { describeKill, killRound } from '../nodes/kill/kill-round.ts';
import { Cluster } from '../support/cluster.ts';

const ROUNDS = 4;
const AGENTS = 12;
const LIMIT_MS = 2000;

/** Too long for `npm test`. */
for (const nodes of [3, 8]) {
  suite(`kill -9 of one of ${nodes} nodes that holds the connections of agents`, async () => {
    const cluster = await Cluster.open({ after }, { nodes });

    test(`the others answer for them in under ${LIMIT_MS} ms at the 99th percentile`, async (t) => {
      const answeredMs: number[] = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        const victim = cluster.node(round % nodes);
        const figures = await killRound(t, cluster, victim, { agents: AGENTS, connections: null });
        answeredMs.push(...figures.answeredMs);
        await victim.start();
      }
      const figures = { answeredMs: answeredMs.toSorted((a, b) => a - b) };
      console.log(`${nodes} nodes: ${describeKill(figures)}`);
      const p99 = figures.answeredMs[Math.floor(0.99 * figures.answeredMs.length)] ?? 0;
      assert.ok(p99 < LIMIT_MS, describeKill(figures));
    });
  });
}

suite('kill -9 of the node that holds the only connection of agents', async () => {
  const cluster = await Cluster.open({ after });

  test('the others answer for them once they have connected again', async (t) => {
    console.log(describeKill(await killRound(t, cluster, cluster.node(1), { agents: 6, connections: 1 })));
  });
});
