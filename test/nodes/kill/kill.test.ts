// Own process: takes long.
import { after, suite, test } from 'node:test';
import { Cluster } from '../../support/cluster.ts';
import { describeKill, killRound } from './kill-round.ts';

/** Every request is answered in the end, whatever the machine's speed; `test/long/node-kill.test.ts` holds the times. */
const cluster = await Cluster.open({ after });

suite('kill -9 of the node that holds the connections of agents', () => {
  test('agents with connections to two nodes', async (t) => {
    const figures = await killRound(t, cluster, cluster.node(0), { agents: 6, connections: null });
    t.diagnostic(describeKill(figures));
    await cluster.node(0).start();
  });
});
