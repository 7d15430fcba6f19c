import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { call } from '../support/call.ts';
import { isQuick, say } from '../support/flags.ts';
import { h2load } from '../support/h2load.ts';
import { percentile } from '../support/load.ts';
import { openBench } from '../support/open-bench.ts';
import { cpuSeconds, median } from '../support/process-cost.ts';
import { type Program, startPosternServer } from '../support/start-program.ts';
import { EchoSockets } from './echo-sockets.ts';
import { QUIET } from './postern.ts';
import { type BenchSite, makeBackend, makeSite } from './sites.ts';

const HOST = 'steady.localhost';
const SOCKETS = isQuick ? 100 : 1000;
const OTHER_HOSTS = 20;
const CHANGES_PER_SECOND = 50;
const REQUESTS_PER_SECOND = 400;
const PHASE_SECONDS = isQuick ? 2 : 5;
const ROUNDS = isQuick ? 1 : 4;
const GOAL = 2;

interface Phase {
  readonly p50: number;
  readonly p99: number;
  readonly changes: number;
  readonly cpuSeconds: number;
}

/**
 * Changes on other hosts, at a rate that no operator reaches, beside WebSockets and a steady load: are they affected?
 * The same changes on a second server show how much of it is the machine, whose cores and disk are shared by the
 * changes, their client and the load.
 */
export async function storms(directory: string): Promise<void> {
  await using bench = await openBench();
  if (bench === null) return;
  const { upstream, stack } = bench;
  const server = await startPosternServer(join(directory, 'server'), QUIET);
  stack.defer(() => server.stop());
  const others = await makeOthers(server, upstream.port);
  await makeSite(server.port, HOST, await makeBackend(server.port, upstream.port));
  const elsewhere = await startPosternServer(join(directory, 'elsewhere'), QUIET);
  stack.defer(() => elsewhere.stop());
  const othersElsewhere = await makeOthers(elsewhere, upstream.port);
  const sockets = new EchoSockets(server.edgePort as number, HOST);
  stack.defer(() => sockets.close());
  await sockets.open(SOCKETS);

  const storms = {
    quiet: () => Promise.resolve(0),
    elsewhere: () => storm(elsewhere.port, othersElsewhere),
    storm: () => storm(server.port, others),
  };
  const phases: Record<keyof typeof storms, Phase[]> = { quiet: [], elsewhere: [], storm: [] };
  // The first round warms up.
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const name of ['quiet', 'elsewhere', 'storm'] as const) {
      const phase = await measurePhase(server, directory, storms[name]);
      if (round > 0) phases[name].push(phase);
    }
  }
  const echoed = await sockets.echo();
  say(
    `${SOCKETS} WebSockets, ${REQUESTS_PER_SECOND} requests a second over HTTP/1.1; ${ROUNDS} rounds of ${PHASE_SECONDS} s each, medians`,
  );
  say('            changes/s      p50 ms      p99 ms   CPU of the server');
  for (const [name, all] of Object.entries(phases)) {
    const of = (key: keyof Phase): number => median(all.map((one) => one[key]));
    const changes = (of('changes') / PHASE_SECONDS).toFixed(1).padStart(9);
    say(
      `${name.padEnd(12)}${changes}${of('p50').toFixed(2).padStart(12)}${of('p99').toFixed(2).padStart(12)}${`${((of('cpuSeconds') / PHASE_SECONDS) * 100).toFixed(0)} %`.padStart(20)}`,
    );
  }
  const p99 = (name: keyof typeof storms): number => median(phases[name].map((one) => one.p99));
  say(
    `p99 of the storm: ${(p99('storm') / p99('quiet')).toFixed(2)} × quiet (goal at most ${GOAL}), ${(p99('storm') / p99('elsewhere')).toFixed(2)} × the same storm elsewhere`,
  );
  say(`WebSockets dropped: ${sockets.dropped} (goal 0); echo at the end: ${echoed} of ${SOCKETS}`);
}

async function makeOthers(server: Program, upstreamPort: number): Promise<readonly BenchSite[]> {
  const backend = await makeBackend(server.port, upstreamPort);
  const others: BenchSite[] = [];
  for (let at = 0; at < OTHER_HOSTS; at += 1) {
    others.push(await makeSite(server.port, `other-${at}.localhost`, backend));
  }
  return others;
}

async function measurePhase(server: Program, directory: string, change: () => Promise<number>): Promise<Phase> {
  const before = cpuSeconds(server.pid);
  const changing = change();
  const { latencies } = await h2load({
    protocol: 'h1',
    host: HOST,
    port: server.edgePort as number,
    path: '/',
    requests: REQUESTS_PER_SECOND * PHASE_SECONDS,
    perSecond: REQUESTS_PER_SECOND,
    connections: 16,
    streams: 1,
    headers: {},
    directory,
  });
  const changes = await changing;
  return {
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
    changes,
    cpuSeconds: cpuSeconds(server.pid) - before,
  };
}

/** Changes at a steady rate, whether or not earlier ones were answered. Returns how many were made. */
async function storm(port: number, others: readonly BenchSite[]): Promise<number> {
  const made: Promise<unknown>[] = [];
  const startedAt = performance.now();
  for (let now = startedAt; now < startedAt + PHASE_SECONDS * 1000; now = performance.now()) {
    while (made.length < ((now - startedAt) / 1000) * CHANGES_PER_SECOND) {
      const other = others[made.length % others.length] as BenchSite;
      const enabled = Math.floor(made.length / others.length) % 2 === 0;
      made.push(call(port, 'PUT', `${other.routePath}/compression`, { enabled }));
    }
    await sleep(5);
  }
  await Promise.all(made);
  return made.length;
}
