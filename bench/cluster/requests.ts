import { setTimeout as sleep } from 'node:timers/promises';
import type { ClusterNode } from '../../test/support/cluster/cluster-node.ts';
import { until } from '../../test/support/cluster.ts';
import { flag, isQuick, say } from '../support/flags.ts';
import { h2load } from '../support/h2load.ts';
import { percentile } from '../support/load.ts';
import { openBench } from '../support/open-bench.ts';
import { cpuNanoseconds, quantile } from '../support/process-cost.ts';
import { openCluster } from './open-cluster.ts';

/** Many short rounds in turn: other work on the machine then disturbs both ways alike. */
const ROUNDS = isQuick ? 2 : Number(flag('rounds') ?? 30);
const REQUESTS = isQuick ? 1000 : 2000;
const WARM_UP_REQUESTS = isQuick ? 2000 : 30_000;
const HOST = 'bench.localhost';
const GOAL = 1.8;
/** Other work on the machine only adds CPU time: caches and cores are shared. */
const LOWER_QUARTILE = 0.25;
const IDLE_MS = isQuick ? 500 : 4000;
const ROWS = [
  { protocol: 'h1', title: 'HTTP/1.1, 1 KB, 32 connections', connections: 32, streams: 1 },
  { protocol: 'h2', title: 'HTTP/2, 1 KB, 4 connections of 16 streams', connections: 4, streams: 16 },
] as const;

interface Sample {
  /** CPU per request of both nodes together, and of each. */
  readonly micros: number;
  readonly withAgent: number;
  readonly withClient: number;
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
  say(`${ROUNDS} rounds of ${REQUESTS} requests, local and forwarded in turn`);
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
    const idle = await Promise.all([local, far].map(idlePerSecond));
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const { name, node } of ways) {
        const [before, startedMs] = [[local, far].map(cpuOf), performance.now()];
        const result = await run(node, REQUESTS);
        const seconds = (performance.now() - startedMs) / 1000;
        const [withAgent = 0, withClient = 0] = [local, far].map(
          (each, at) => (cpuOf(each) - (before[at] ?? 0) - (idle[at] ?? 0) * seconds) / result.requests / 1000,
        );
        samples[name]?.push({
          ...{ micros: withAgent + withClient, withAgent, withClient },
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
  say('             CPU/request: servers   with agent   with client    requests/s    p50 ms    p99 ms');
  const of = (name: string, field: keyof Sample, part = 0.5): number =>
    quantile(
      (samples[name] ?? []).map((each) => each[field]),
      part,
    );
  for (const name of ['local', 'forwarded']) {
    const cost = (field: keyof Sample): string => `${of(name, field, LOWER_QUARTILE).toFixed(1)} µs`;
    say(
      `${name.padEnd(12)}${cost('micros').padStart(21)}${cost('withAgent').padStart(13)}${cost('withClient').padStart(14)}${of(name, 'perSecond').toFixed(0).padStart(14)}${of(name, 'p50').toFixed(1).padStart(10)}${of(name, 'p99').toFixed(1).padStart(10)}`,
    );
  }
  const ratios = (samples['forwarded'] ?? []).map(
    ({ micros }, at) => micros / (samples['local']?.[at]?.micros ?? Number.NaN),
  );
  const spread = [0.25, 0.5, 0.75].map((part) => quantile(ratios, part).toFixed(2));
  const lower = of('forwarded', 'micros', LOWER_QUARTILE) / of('local', 'micros', LOWER_QUARTILE);
  say(
    `forwarded / local: ${lower.toFixed(2)} at the lower quartile; of neighboring rounds ${spread[1]} (half of them ${spread[0]} to ${spread[2]}); goal at most ${GOAL}`,
  );
}

/** Heartbeats, pings and metrics go on without requests, and are no part of their cost. */
async function idlePerSecond(node: ClusterNode): Promise<number> {
  const before = cpuOf(node);
  await sleep(IDLE_MS);
  return (cpuOf(node) - before) / (IDLE_MS / 1000);
}

/** Nanoseconds. */
function cpuOf({ pid }: ClusterNode): number {
  return cpuNanoseconds(pid);
}
