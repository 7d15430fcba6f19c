import { setTimeout as sleep } from 'node:timers/promises';
import type { ClusterNode } from '../../test/support/cluster/cluster-node.ts';
import { until } from '../../test/support/cluster.ts';
import { flag, isQuick, say } from '../support/flags.ts';
import { h2load } from '../support/h2load.ts';
import { percentile } from '../support/load.ts';
import { openBench } from '../support/open-bench.ts';
import { cpuNanoseconds, median } from '../support/process-cost.ts';
import { openCluster } from './open-cluster.ts';

const ROUNDS = isQuick ? 1 : Number(flag('rounds') ?? 5);
const REQUESTS = isQuick ? 2000 : 10_000;
const WARM_UP_REQUESTS = isQuick ? 2000 : 30_000;
const HOST = 'bench.localhost';
const GOAL = 1.8;
const IDLE_MS = isQuick ? 500 : 4000;
const ROWS = [
  { protocol: 'h1', title: 'HTTP/1.1, 1 KB, 32 connections', connections: 32, streams: 1 },
  { protocol: 'h2', title: 'HTTP/2, 1 KB, 4 connections of 16 streams', connections: 4, streams: 16 },
] as const;

interface Sample {
  readonly micros: number;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
}

/** CPU of a request through the node with the agent, and through another one: both nodes added. */
export async function requests(directory: string): Promise<void> {
  await using bench = await openBench();
  if (bench === null) return;
  const { cluster, agents } = await openCluster(bench.stack, directory, 2);
  const [local, far] = [cluster.node(0), cluster.node(1)];
  await agents(local, [[{ proto: 'https', domain: HOST, addr: `127.0.0.1:${bench.upstream.port}` }]]);
  for (const node of cluster.nodes) await until('it is served', async () => (await node.status(HOST)) === 200);
  const ways = [
    { name: 'local', node: local },
    { name: 'forwarded', node: far },
  ] as const;
  const pids = cluster.nodes.map(({ pid }) => pid);
  say(`${ROUNDS} rounds of ${REQUESTS} requests, medians`);
  for (const row of ROWS) {
    const run = (node: ClusterNode, count: number) =>
      h2load({
        ...row,
        host: HOST,
        address: node.address,
        port: node.port,
        path: '/',
        requests: count,
        headers: {},
        directory,
      });
    const samples: Record<string, Sample[]> = { local: [], forwarded: [] };
    for (const { node } of ways) await run(node, WARM_UP_REQUESTS);
    const idle = await idlePerSecond(pids);
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const { name, node } of ways) {
        const [cpuBefore, startedMs] = [cpuOf(pids), performance.now()];
        const result = await run(node, REQUESTS);
        const used = cpuOf(pids) - cpuBefore - (idle * (performance.now() - startedMs)) / 1000;
        samples[name]?.push({
          micros: used / result.requests / 1000,
          perSecond: result.requests / result.seconds,
          p50: percentile(result.latencies, 0.5),
          p99: percentile(result.latencies, 0.99),
        });
      }
    }
    report(row.title, samples);
  }
}

function report(title: string, samples: Readonly<Record<string, readonly Sample[]>>): void {
  say(`\n${title}`);
  say('             CPU/request: servers   × local    requests/s      p50 ms    p99 ms');
  const of = (name: string, field: keyof Sample): number => median((samples[name] ?? []).map((each) => each[field]));
  for (const name of ['local', 'forwarded']) {
    const ratio = of(name, 'micros') / of('local', 'micros');
    const goal = name === 'forwarded' ? `   (goal at most ${GOAL} × local)` : '';
    say(
      `${name.padEnd(12)}${`${of(name, 'micros').toFixed(1)} µs`.padStart(21)}${ratio.toFixed(2).padStart(10)}${of(name, 'perSecond').toFixed(0).padStart(14)}${of(name, 'p50').toFixed(1).padStart(12)}${of(name, 'p99').toFixed(1).padStart(10)}${goal}`,
    );
  }
}

/** Heartbeats, pings and metrics go on without requests, and are no part of their cost. */
async function idlePerSecond(pids: readonly number[]): Promise<number> {
  const before = cpuOf(pids);
  await sleep(IDLE_MS);
  return (cpuOf(pids) - before) / (IDLE_MS / 1000);
}

/** Nanoseconds of both nodes. */
function cpuOf(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + cpuNanoseconds(pid), 0);
}
