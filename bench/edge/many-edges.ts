import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { call } from '../support/call.ts';
import { isQuick, say } from '../support/flags.ts';
import { h2load } from '../support/h2load.ts';
import { httpRequest, load, percentile } from '../support/load.ts';
import { openBench } from '../support/open-bench.ts';
import { cpuSeconds, median, rssMiB } from '../support/process-cost.ts';
import { API_KEY, type Program, startPosternServer } from '../support/start-program.ts';
import { QUIET } from './postern.ts';
import { MATCHES, makeSites } from './sites.ts';

const FEW = 10;
const MANY = isQuick ? 500 : 10_000;
const ROUNDS = isQuick ? 1 : 7;
const REQUESTS = isQuick ? 1000 : 5000;
const CHANGES = isQuick ? 50 : 200;
const GOAL = 1.5;

interface Side {
  readonly edges: number;
  readonly server: Program;
  readonly startCpuSeconds: number;
  readonly rss: number;
  readonly host: string;
  readonly routePath: string;
  readonly requestMicros: number[];
  readonly changeMicros: number[];
  readonly changeP50Ms: number[];
}

/** The cost of a request and of a change with ten edges and with ten thousand, on two servers measured in turns. */
export async function manyEdges(directory: string): Promise<void> {
  await using bench = await openBench();
  if (bench === null) return;
  const { upstream, stack } = bench;
  const sides: Side[] = [];
  for (const edges of [FEW, MANY]) {
    const side = await prepare(join(directory, String(edges)), edges, upstream.port);
    stack.defer(() => side.server.stop());
    sides.push(side);
  }
  // The first round warms up.
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const side of sides) await measure(side, directory, round > 0);
  }
  say(`${MATCHES.length} routes each; ${ROUNDS} rounds of ${REQUESTS} requests and ${CHANGES} changes, medians`);
  say('   edges   start to ready   CPU of start   RSS after start   CPU/request   CPU/change   change p50');
  for (const { edges, server, startCpuSeconds, rss, requestMicros, changeMicros, changeP50Ms } of sides) {
    const columns = [
      edges.toLocaleString('en-US').padStart(8),
      `${server.readyAfterMs.toFixed(0)} ms`.padStart(17),
      `${startCpuSeconds.toFixed(2)} s`.padStart(15),
      `${rss.toFixed(0)} MiB`.padStart(18),
      `${median(requestMicros).toFixed(1)} µs`.padStart(14),
      `${median(changeMicros).toFixed(0)} µs`.padStart(13),
      `${median(changeP50Ms).toFixed(2)} ms`.padStart(13),
    ];
    say(columns.join(''));
  }
  const [few, many] = sides as [Side, Side];
  const ratio = (of: (side: Side) => readonly number[]): string => (median(of(many)) / median(of(few))).toFixed(2);
  say(
    `× few: request ${ratio((side) => side.requestMicros)}, change ${ratio((side) => side.changeMicros)} of CPU and ${ratio((side) => side.changeP50Ms)} of time (goal at most ${GOAL})`,
  );
}

/** Filled through the API, then restarted. */
async function prepare(dataDir: string, edges: number, upstreamPort: number): Promise<Side> {
  await mkdir(dataDir);
  const filling = await startPosternServer(dataDir, { ...QUIET, POSTERN_ROLES: 'api' });
  const started = performance.now();
  const last = await makeSites(filling.port, edges, upstreamPort);
  say(`${edges.toLocaleString('en-US')} edges created in ${((performance.now() - started) / 1000).toFixed(1)} s`);
  await filling.stop();
  const server = await startPosternServer(dataDir, QUIET);
  const startCpuSeconds = cpuSeconds(server.pid);
  await call(server.port, 'PUT', `${last.routePath}/compression`, {});
  return {
    edges,
    server,
    startCpuSeconds,
    rss: rssMiB(server.pid),
    ...last,
    requestMicros: [],
    changeMicros: [],
    changeP50Ms: [],
  };
}

async function measure(side: Side, directory: string, isCounted: boolean): Promise<void> {
  const { server, host, routePath } = side;
  const cpuBefore = cpuSeconds(server.pid);
  await h2load({
    protocol: 'h1',
    host,
    port: server.edgePort as number,
    path: '/',
    requests: REQUESTS,
    connections: 16,
    streams: 1,
    headers: {},
    directory,
  });
  const cpuBetween = cpuSeconds(server.pid);
  const headers = { authorization: `Bearer ${API_KEY}`, 'service-version': '2' };
  const changes = [true, false].map((enabled) =>
    httpRequest('PUT', `${routePath}/compression`, headers, JSON.stringify({ enabled })),
  );
  const { latencies } = await load({
    port: server.port,
    connections: 1,
    status: 200,
    until: { count: CHANGES },
    request: (index) => changes[index % 2] as Buffer,
  });
  const cpuAfter = cpuSeconds(server.pid);
  if (!isCounted) return;
  side.requestMicros.push(((cpuBetween - cpuBefore) / REQUESTS) * 1e6);
  side.changeMicros.push(((cpuAfter - cpuBetween) / CHANGES) * 1e6);
  side.changeP50Ms.push(percentile(latencies, 0.5));
}
