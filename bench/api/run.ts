import { mkdtemp, rm } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { httpRequest, load, percentile } from '../support/load.ts';
import { cpuSeconds, median, rssMiB } from '../support/process-cost.ts';
import { API_KEY, type Program, startPosternServer, startProgram } from '../support/start-program.ts';
import { helpIfRequested } from '../support/usage.ts';

helpIfRequested({
  script: 'bench:api',
  about:
    'Compares the management API with a bare Fastify route that sends the same bytes, and measures\nwrites, lists, memory and startup. Takes about two minutes.',
});
const isQuick = process.argv.includes('--quick');
const ROUNDS = isQuick ? 2 : 7;
const ROUND_MS = isQuick ? 500 : 2000;
const MANY = isQuick ? 10_000 : 100_000;
const CONNECTIONS = 32;
const WRITERS = 64;
const headers = { authorization: `Bearer ${API_KEY}`, 'service-version': '2' };
const BARE_SERVER = fileURLToPath(new URL('./bare-server.ts', import.meta.url));

say(`${cpus()[0]?.model}, ${cpus().length} cores, Node ${process.version}, log level info to a file`);
const dataDir = await mkdtemp(join(tmpdir(), 'postern-bench-'));
try {
  await readsAgainstFloor();
  await durableWrites();
  await growth();
} finally {
  await rm(dataDir, { recursive: true, force: true });
}

async function readsAgainstFloor(): Promise<void> {
  const server = await startPosternServer(join(dataDir, 'reads'));
  const { edge, route } = await edgeWithRoute(server);
  const path = `/edges/https/${edge}/routes/${route}/oidc`;
  const put = await call(server, 'PUT', path, {
    issuer: 'https://accounts.example.com',
    client_id: 'app',
    client_secret: 'hush',
    scopes: ['openid', 'email'],
  });
  const sample = await fetch(`http://127.0.0.1:${server.port}${path}`, { headers });
  const copied = ['postern-operation-id', 'cache-control', 'etag', 'content-type'].map((name) => [
    name,
    sample.headers.get(name),
  ]);
  const bare = await startProgram([BARE_SERVER], {
    BODY: JSON.stringify(put),
    HEADERS: JSON.stringify(Object.fromEntries(copied)),
  });

  const own: Measured[] = [];
  const floor: Measured[] = [];
  // The first round of each warms up and does not count.
  for (let round = 0; round <= ROUNDS; round += 1) {
    const a = await measure(server, httpRequest('GET', path, headers));
    const b = await measure(bare, httpRequest('GET', '/module', headers));
    if (round === 0) continue;
    own.push(a);
    floor.push(b);
  }
  await server.stop();
  await bare.stop();
  const ratios = own.map((measured, index) => measured.perSecond / (floor[index]?.perSecond ?? 1));
  say(
    `GET of a module:      ${rate(median(own.map((m) => m.perSecond)))} req/s, ${micros(median(own.map((m) => m.cpu)))} CPU per request`,
  );
  say(
    `bare Fastify route:   ${rate(median(floor.map((m) => m.perSecond)))} req/s, ${micros(median(floor.map((m) => m.cpu)))} CPU per request`,
  );
  say(`ratio of throughput:  ${median(ratios).toFixed(2)} (goal at least 0.7)`);
}

async function durableWrites(): Promise<void> {
  const server = await startPosternServer(join(dataDir, 'writes'));
  const { edge } = await edgeWithRoute(server);
  const routes = await Promise.all(
    Array.from({ length: WRITERS }, (_, index) =>
      call(server, 'POST', `/edges/https/${edge}/routes`, { match_type: 'exact_path', match: `/w${index}` }),
    ),
  );
  const paths = routes.map((route) => `/edges/https/${edge}/routes/${String(route['id'])}/oidc`);
  const before = await storeCounters(server);
  const result = await load({
    port: server.port,
    connections: WRITERS,
    status: 200,
    until: { ms: isQuick ? 1000 : 5000 },
    request: (index) =>
      httpRequest('PUT', paths[index % WRITERS] as string, headers, JSON.stringify({ client_id: `app-${index}` })),
  });
  const after = await storeCounters(server);
  await server.stop();
  const commits = after.commits - before.commits;
  const writes = after.writes - before.writes;
  say(
    `PUT, durable, ${WRITERS} writers: ${rate(result.requests / result.seconds)} writes/s, p50 ${percentile(result.latencies, 0.5).toFixed(1)} ms, p99 ${percentile(result.latencies, 0.99).toFixed(1)} ms`,
  );
  say(`writes per fsync:     ${(writes / commits).toFixed(1)} (goal at least 8)`);
}

async function growth(): Promise<void> {
  const home = join(dataDir, 'growth');
  let server = await startPosternServer(home);
  const emptyStartMs = server.readyAfterMs;
  await createBackends(server, 100);
  const few = await listPage(server);
  await createBackends(server, MANY - 100);
  const many = await listPage(server);
  const rss = rssMiB(server.pid);
  await server.stop();
  server = await startPosternServer(home);
  const fullStartMs = server.readyAfterMs;
  const rssAfterStart = rssMiB(server.pid);
  await server.stop();
  say(
    `list page of 100:     ${few.toFixed(2)} ms at 100 resources, ${many.toFixed(2)} ms at ${rate(MANY)}: ${(many / few).toFixed(2)} x (goal at most 1.5)`,
  );
  say(
    `memory at ${rate(MANY)}:    ${rss.toFixed(0)} MiB after creating them, ${rssAfterStart.toFixed(0)} MiB after a restart`,
  );
  say(
    `start to ready:       ${emptyStartMs.toFixed(0)} ms empty, ${fullStartMs.toFixed(0)} ms with ${rate(MANY)} resources`,
  );
}

interface Measured {
  readonly perSecond: number;
  /** Seconds of the server's CPU per request. */
  readonly cpu: number;
}

async function measure(program: Program, request: Buffer): Promise<Measured> {
  const before = cpuSeconds(program.pid);
  const result = await load({
    port: program.port,
    connections: CONNECTIONS,
    status: 200,
    until: { ms: ROUND_MS },
    request: () => request,
  });
  return { perSecond: result.requests / result.seconds, cpu: (cpuSeconds(program.pid) - before) / result.requests };
}

async function edgeWithRoute(server: Program): Promise<{ edge: string; route: string }> {
  const edge = String((await call(server, 'POST', '/edges/https', {}))['id']);
  const route = await call(server, 'POST', `/edges/https/${edge}/routes`, { match_type: 'path_prefix', match: '/' });
  return { edge, route: String(route['id']) };
}

async function createBackends(server: Program, count: number): Promise<void> {
  const body = JSON.stringify({ address: '10.0.0.5:3000', description: 'one of many', metadata: '{"team":"shop"}' });
  const request = httpRequest('POST', '/backends/static', headers, body);
  await load({ port: server.port, connections: WRITERS, status: 201, until: { count }, request: () => request });
}

/** Median of a page from the middle of the list and one from its start. */
async function listPage(server: Program): Promise<number> {
  const first = await call(server, 'GET', '/backends/static?limit=100');
  const last = (first['backends'] as { id: string }[]).at(-1)?.id;
  const paths = ['/backends/static?limit=100', `/backends/static?limit=100&before_id=${last}`];
  const requests = paths
    .slice(0, first['next_page_uri'] === null ? 1 : 2)
    .map((path) => httpRequest('GET', path, headers));
  const result = await load({
    port: server.port,
    connections: 1,
    status: 200,
    until: { count: isQuick ? 200 : 2000 },
    request: (index) => requests[index % requests.length] as Buffer,
  });
  return percentile(result.latencies, 0.5);
}

async function storeCounters(server: Program): Promise<{ writes: number; commits: number }> {
  const text = await (await fetch(`http://127.0.0.1:${server.port}/metrics`, { headers })).text();
  const value = (name: string): number => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
  return { writes: value('postern_store_write_sets_total'), commits: value('postern_store_commits_total') };
}

async function call(server: Program, method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
  const response = await fetch(`http://127.0.0.1:${server.port}${path}`, {
    method,
    headers: { ...headers, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as Record<string, unknown>;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function rate(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

function micros(seconds: number): string {
  return `${(seconds * 1e6).toFixed(1)} µs`;
}
