import { cpus } from 'node:os';
import { until } from '../../test/support/cluster.ts';
import { isQuick, say } from '../support/flags.ts';
import { h2load } from '../support/h2load.ts';
import { openBench } from '../support/open-bench.ts';
import { cpuNanoseconds, median } from '../support/process-cost.ts';
import { openCluster } from './open-cluster.ts';

const ROUNDS = isQuick ? 1 : 3;
const REQUESTS = isQuick ? 1000 : 8000;
const HOST = 'bench.localhost';

/**
 * Requests per second and CPU per request of 1, 2 and 3 nodes with visitors and an agent each. A request goes to the
 * least busy agent: with two nodes about half of them are forwarded, with three two thirds.
 */
export async function scale(directory: string): Promise<void> {
  await using bench = await openBench();
  if (bench === null) return;
  const { cluster, agents } = await openCluster(bench.stack, directory, 3);
  const addr = `127.0.0.1:${bench.upstream.port}`;
  const group = await cluster.first.api('POST', '/backends/tunnel_group', { labels: { app: 'bench' } });
  await cluster.first.site(group.id, HOST);
  say(`${cpus().length} cores for nodes, agents, service and clients: with few cores, more nodes cannot be faster`);
  for (let count = 1; count <= cluster.nodes.length; count += 1) {
    await agents(cluster.node(count - 1), [[{ labels: { app: 'bench' }, addr }]]);
    for (const node of cluster.nodes) await until('it is served', async () => (await node.status(HOST)) === 200);
    const perSecond: number[] = [];
    const micros: number[] = [];
    const cpu = (): number => cluster.nodes.reduce((sum, { pid }) => sum + cpuNanoseconds(pid), 0);
    for (let round = 0; round <= ROUNDS; round += 1) {
      const [cpuBefore, startedMs] = [cpu(), performance.now()];
      const runs = cluster.nodes.slice(0, count).map(({ address, port }) =>
        h2load({
          protocol: 'h2',
          host: HOST,
          address,
          port,
          path: '/',
          requests: Math.round(REQUESTS / count),
          connections: 4,
          streams: 16,
          headers: {},
          directory,
        }),
      );
      await Promise.all(runs);
      // The first round warms up.
      if (round === 0) continue;
      perSecond.push(REQUESTS / ((performance.now() - startedMs) / 1000));
      micros.push((cpu() - cpuBefore) / REQUESTS / 1000);
    }
    say(
      `${count} node${count === 1 ? ' ' : 's'}   ${median(perSecond).toFixed(0)} requests/s   ${median(micros).toFixed(0)} µs of CPU per request, all nodes added`,
    );
  }
}
