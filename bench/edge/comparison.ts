import { mkdir } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { flag, isQuick, listFlag, say } from '../support/flags.ts';
import { percentile } from '../support/load.ts';
import { openBench } from '../support/open-bench.ts';
import { cpuSeconds, familyOf, median, rssMiB } from '../support/process-cost.ts';
import { makeCertificates } from './certificates.ts';
import type { Contender, ContenderOptions } from './contender.ts';
import { others, startOther } from './others.ts';
import { startPostern } from './postern.ts';
import { allRows, type Row } from './rows.ts';

const ROUNDS = isQuick ? 1 : Number(flag('rounds') ?? 5);
const REQUESTS = isQuick ? 2000 : 10_000;
const WARM_UP_REQUESTS = isQuick ? 2000 : 15_000;

interface Sample {
  readonly cpuMicros: number;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  /** Size of one response as transferred: the proxies compress at different levels. */
  readonly bodyBytes: number;
}

/**
 * Postern's edge against the distribution's proxies: one upstream, TLS with ECDSA P-256, kept connections, all in one
 * run on one machine, alternating in rounds. The relevant figure is CPU per request (user and system of all processes
 * of the proxy), which other work on the machine affects least.
 */
export async function compare(directory: string): Promise<void> {
  await using bench = await openBench();
  if (bench === null) return;
  const { upstream, stack } = bench;
  const certificates = await makeCertificates(directory);
  const wantedRows = listFlag('rows');
  const rows = allRows(directory, certificates).filter((row) => wantedRows?.includes(row.name) ?? true);
  const contenders: Contender[] = [];
  const only = listFlag('only');
  const names = ['postern', ...(flag('before') === null ? [] : ['before']), ...others.map((other) => other.name)];
  for (const name of names) {
    if (only?.includes(name) === false) continue;
    const own = join(directory, name);
    await mkdir(own);
    const contender = await start(name, { directory: own, upstreamPort: upstream.port, certificates });
    if (contender === null) {
      say(`${name} is not installed: skipped`);
      continue;
    }
    stack.defer(() => contender.stop());
    contenders.push(contender);
  }
  const versions = contenders.map(({ name, version }) =>
    name === 'postern' ? `Node ${version}` : `${name} ${version}`,
  );
  say(
    `${cpus()[0]?.model}, ${cpus().length} cores; ${versions.join(', ')}; ${ROUNDS} rounds of ${REQUESTS} requests, medians`,
  );
  for (const row of rows) await measureRow(row, contenders);
  for (const { name, pid } of contenders) {
    const rss = familyOf(pid).reduce((sum, member) => sum + rssMiB(member), 0);
    say(`resident memory of ${name.padEnd(8)} after all rows: ${rss.toFixed(0)} MiB`);
  }
}

async function start(name: string, options: ContenderOptions): Promise<Contender | null> {
  if (name === 'postern') return startPostern(name, options);
  if (name === 'before') return startPostern(name, options, flag('before') ?? '');
  const other = others.find((candidate) => candidate.name === name);
  return other === undefined ? null : startOther(other, options);
}

async function measureRow(row: Row, contenders: readonly Contender[]): Promise<void> {
  const samples = new Map<Contender, Sample[]>(contenders.map((contender) => [contender, []]));
  for (const contender of contenders) await row.run(contender, Math.round(WARM_UP_REQUESTS * row.share));
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const contender of contenders) samples.get(contender)?.push(await measure(row, contender));
  }
  say(`\n${row.title}`);
  say('            CPU/request   × caddy    requests/s      p50 ms    p99 ms   body bytes');
  const figures = contenders.map((contender) => ({ name: contender.name, ...medians(samples.get(contender) ?? []) }));
  const reference = figures.find(({ name }) => name === 'caddy')?.cpuMicros;
  for (const { name, cpuMicros, perSecond, p50, p99, bodyBytes } of figures) {
    const ratio = reference === undefined ? '-' : (cpuMicros / reference).toFixed(2);
    const bodies = Number.isNaN(bodyBytes) ? '-' : bodyBytes.toFixed(0);
    const goal = name === 'postern' && row.goal !== undefined ? `   (goal at most ${row.goal.toFixed(1)} × caddy)` : '';
    say(
      `${name.padEnd(10)}${`${cpuMicros.toFixed(1)} µs`.padStart(13)}${ratio.padStart(10)}${Math.round(perSecond).toLocaleString('en-US').padStart(14)}${p50.toFixed(2).padStart(12)}${p99.toFixed(2).padStart(10)}${bodies.padStart(13)}${goal}`,
    );
  }
}

async function measure(row: Row, contender: Contender): Promise<Sample> {
  const cpu = (): number => familyOf(contender.pid).reduce((sum, pid) => sum + cpuSeconds(pid), 0);
  const before = cpu();
  const result = await row.run(contender, Math.round(REQUESTS * row.share));
  return {
    cpuMicros: ((cpu() - before) / result.requests) * 1e6,
    perSecond: result.requests / result.seconds,
    p50: percentile(result.latencies, 0.5),
    p99: percentile(result.latencies, 0.99),
    bodyBytes: (result.bodyBytes ?? Number.NaN) / result.requests,
  };
}

function medians(samples: readonly Sample[]): Sample {
  const of = (key: keyof Sample): number => median(samples.map((sample) => sample[key]));
  return {
    cpuMicros: of('cpuMicros'),
    perSecond: of('perSecond'),
    p50: of('p50'),
    p99: of('p99'),
    bodyBytes: of('bodyBytes'),
  };
}
