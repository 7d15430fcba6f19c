import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { h2load, hasH2load } from '../support/h2load.ts';
import { httpRequest, type LoadResult, load, percentile } from '../support/load.ts';
import { cpuSeconds, familyOf, median, rssMiB } from '../support/process-cost.ts';
import { startProgram } from '../support/start-program.ts';
import { HOST, MUTUAL_HOST, makeCertificates } from './certificates.ts';
import type { Contender, ContenderOptions } from './contender.ts';
import { others, startOther } from './others.ts';
import { startPostern } from './postern.ts';

/**
 * Postern's edge against the proxies of the distribution: one upstream, TLS with ECDSA P-256, kept connections, all in one run
 * on one machine, alternating in rounds. The figure to look at is CPU per request (user and system of all processes of the
 * proxy), which other work on the machine disturbs least.
 *   npm run bench:edge                          the whole (a few minutes)
 *   npm run bench:edge -- --quick               few and short rounds: to see that it runs
 *   npm run bench:edge -- --only=postern,caddy  these contenders
 *   npm run bench:edge -- --rows=h1,h2          these rows
 */
const isQuick = process.argv.includes('--quick');
const ROUNDS = isQuick ? 1 : 5;
const REQUESTS = isQuick ? 2000 : 10_000;
const CONNECTIONS = 32;
const STREAMS = 16;
const HTTP2_CONNECTIONS = 4;
const WARM_UP_REQUESTS = isQuick ? 2000 : 15_000;
const UPSTREAM = fileURLToPath(new URL('./upstream.ts', import.meta.url));

interface Row {
  readonly name: string;
  readonly title: string;
  /** Times Caddy's CPU per request, where there is a goal. */
  readonly goal?: number;
  /** Share of the usual count: some requests cost more. */
  readonly share: number;
  readonly hasClientCertificates?: boolean;
  run(contender: Contender, requests: number): Promise<LoadResult & { readonly bodyBytes?: number }>;
}

interface Sample {
  readonly cpuMicros: number;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  /** Of one answer, as it came over the wire: the proxies compress with different zeal. */
  readonly bodyBytes: number;
}

const only = listFlag('only');
const wantedRows = listFlag('rows');
const directory = await mkdtemp(join(tmpdir(), 'postern-bench-edge-'));
const certificates = await makeCertificates(directory);
const rows = allRows().filter((row) => wantedRows?.includes(row.name) ?? true);
try {
  if (await hasH2load()) await main();
  else say('h2load is not installed (Debian: nghttp2-client): nothing was measured');
} finally {
  await rm(directory, { recursive: true, force: true });
}

async function main(): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const upstream = await startProgram([UPSTREAM], {});
  stack.defer(() => upstream.stop());
  const contenders: Contender[] = [];
  for (const name of ['postern', ...others.map((other) => other.name)]) {
    if (only?.includes(name) === false) continue;
    const contender = await start(name, upstream.port);
    if (contender === null) {
      say(`${name} is not installed: left out`);
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

async function start(name: string, upstreamPort: number): Promise<Contender | null> {
  const options: ContenderOptions = { directory: join(directory, name), upstreamPort, certificates };
  await mkdir(options.directory);
  if (name === 'postern') return startPostern(options);
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

function allRows(): readonly Row[] {
  const over =
    (protocol: 'h1' | 'h2', path: string, headers: Record<string, string>) =>
    (contender: Contender, requests: number) =>
      h2load({
        protocol,
        host: HOST,
        port: contender.port,
        path,
        requests,
        connections: protocol === 'h1' ? CONNECTIONS : HTTP2_CONNECTIONS,
        streams: STREAMS,
        headers,
        directory,
      });
  const gzip = { 'accept-encoding': 'gzip' };
  return [
    { name: 'h1', title: `HTTP/1.1, 1 KB, ${CONNECTIONS} connections`, goal: 1, share: 1, run: over('h1', '/', {}) },
    {
      name: 'h2',
      title: `HTTP/2, 1 KB, ${HTTP2_CONNECTIONS} connections of ${STREAMS} streams`,
      goal: 0.6,
      share: 1,
      run: over('h2', '/', {}),
    },
    { name: 'h1-gzip', title: 'HTTP/1.1, 10 KB of JSON, gzip', share: 0.5, run: over('h1', '/json', gzip) },
    { name: 'h2-gzip', title: 'HTTP/2, 10 KB of JSON, gzip', share: 0.5, run: over('h2', '/json', gzip) },
    {
      name: 'mutual',
      // h2load has no client certificates.
      title: 'HTTP/1.1, 1 KB, client certificate demanded (load by Node)',
      share: 1,
      run: (contender, requests) => {
        const request = httpRequest('GET', '/', { host: MUTUAL_HOST });
        return load({
          port: contender.mutualPort,
          connections: CONNECTIONS,
          status: 200,
          until: { count: requests },
          request: () => request,
          // The bench's own loopback servers, whose names are not what is measured.
          tls: { ...certificates.client, servername: MUTUAL_HOST, rejectUnauthorized: false },
        });
      },
    },
  ];
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

function listFlag(name: string): readonly string[] | null {
  const flag = process.argv.find((arg) => arg.startsWith(`--${name}=`));
  return flag === undefined ? null : flag.slice(name.length + 3).split(',');
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
