import { mkdir } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { HOST, makeCertificates } from '../edge/certificates.ts';
import { others, startOther } from '../edge/others.ts';
import { call } from '../support/call.ts';
import { flag, isQuick, listFlag, say } from '../support/flags.ts';
import { h2load } from '../support/h2load.ts';
import { percentile } from '../support/load.ts';
import { openBench } from '../support/open-bench.ts';
import { cpuNanoseconds, familyOf, median } from '../support/process-cost.ts';
import { takeTurns } from '../support/take-turns.ts';
import { otherTunnels, startOtherTunnel } from './other-tunnels.ts';
import { startAgents, startTunnelServer } from './tunnel-server.ts';

const ROUNDS = isQuick ? 2 : Number(flag('rounds') ?? 25);
/** Short, so that no contender is idle for a second before its round: V8 gives memory back after eight. */
const REQUESTS = isQuick ? 500 : 1500;
const COMPILING_REQUESTS = isQuick ? 1000 : 30_000;
/** Not counted: some contenders were idle while others compiled. */
const WARM_UP_ROUNDS = isQuick ? 1 : 4;
/** With TLS there are few connections, because each round pays for their handshakes. */
const ROWS = [
  { name: 'h1', protocol: 'h1', title: 'HTTP/1.1, 1 KB, 8 connections', connections: 8, streams: 1, goal: 0.85 },
  {
    name: 'h2',
    protocol: 'h2',
    title: 'HTTP/2, 1 KB, 4 connections of 16 streams',
    connections: 4,
    streams: 16,
    goal: 1,
  },
] as const;
/** Other tunnels have no TLS of their own towards visitors. */
const PLAIN_ROW = {
  name: 'plain',
  protocol: 'h1',
  scheme: 'http',
  title: 'HTTP/1.1 without TLS, 1 KB, 32 connections, beside other tunnels',
  connections: 32,
  streams: 1,
  goal: null,
} as const;
const TUNNEL_HOST = 'tunnel.localhost';
const GROUP_HOST = 'group.localhost';

/** Where requests go, and whose CPU time they take. */
interface Way {
  readonly name: string;
  /** Visitors connect without TLS. */
  readonly isPlain?: boolean;
  readonly host: string;
  readonly port: number;
  readonly servers: readonly number[];
  readonly agents: readonly number[];
}

interface Sample {
  readonly serverMicros: number;
  readonly agentMicros: number;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
}

/**
 * The cost of a request through a tunnel, beside Caddy in front of the same service without any tunnel: one upstream,
 * TLS with ECDSA P-256, kept connections, all in one run, alternating in rounds.
 */
export async function requests(directory: string): Promise<void> {
  await using bench = await openBench();
  if (bench === null) return;
  const { upstream, stack } = bench;
  const addr = `127.0.0.1:${upstream.port}`;
  const ways = await startPostern(stack, directory, addr);
  const before = flag('before');
  if (before !== null) {
    const [tunnel] = await startPostern(stack, join(directory, 'before'), addr, before);
    if (tunnel !== undefined) ways.push({ ...tunnel, name: 'before' });
  }
  const caddyDirectory = join(directory, 'caddy');
  await mkdir(caddyDirectory);
  const [caddy] = others;
  const certificates = await makeCertificates(directory);
  const other =
    caddy && (await startOther(caddy, { directory: caddyDirectory, upstreamPort: upstream.port, certificates }));
  if (other) {
    stack.defer(() => other.stop());
    ways.push({ name: 'caddy', host: HOST, port: other.port, servers: [other.pid], agents: [] });
  } else say('caddy is not installed: skipped, and so are the goals');
  say(
    `${cpus()[0]?.model}, ${cpus().length} cores; Node ${process.version}, caddy ${other?.version ?? '-'} without tunnel`,
  );
  say(`${ROUNDS} rounds of ${REQUESTS} requests, medians`);
  const only = listFlag('rows');
  const encrypted = ways.filter(({ isPlain }) => isPlain !== true);
  for (const row of ROWS) if (only?.includes(row.name) ?? true) await measureRow(row, encrypted, directory);
  if (!(only?.includes(PLAIN_ROW.name) ?? true)) return;
  const plain = ways.filter(({ isPlain }) => isPlain === true);
  for (const kind of otherTunnels) {
    say(`installing ${kind.name} into a temporary folder`);
    const tunnel = await startOtherTunnel(kind, join(directory, kind.name), upstream.port);
    if ('problem' in tunnel) {
      say(`${kind.name.toUpperCase()} IS SKIPPED: ${tunnel.problem}`);
      continue;
    }
    stack.defer(() => tunnel.stop());
    const { host, port, server, agent } = tunnel;
    plain.push({ name: kind.name, host, port, servers: [server], agents: [agent] });
  }
  await measureRow(PLAIN_ROW, plain, directory);
}

/** A server, an agent, and both paths to its service: an endpoint, and a tunnel group. */
async function startPostern(
  stack: AsyncDisposableStack,
  directory: string,
  addr: string,
  checkout?: string,
): Promise<Way[]> {
  await mkdir(directory, { recursive: true });
  const server = await startTunnelServer(directory, checkout);
  stack.defer(() => server.program.stop());
  const { pid, port } = server.program;
  const labels = { app: 'bench' };
  const group = await call(port, 'POST', '/backends/tunnel_group', { labels });
  const edge = await call(port, 'POST', '/edges/https', { hostports: [`${GROUP_HOST}:443`] });
  const route = { match_type: 'path_prefix', match: '/', backend: { backend_id: group['id'] } };
  await call(port, 'POST', `/edges/https/${String(edge['id'])}/routes`, route);
  const tunnels = [
    { proto: 'https', domain: TUNNEL_HOST, addr },
    { proto: 'http', domain: TUNNEL_HOST, addr },
    { labels, addr },
  ] as const;
  const agent = await startAgents(server, [tunnels]);
  stack.defer(() => agent.stop());
  const pids = { servers: [pid], agents: [agent.pid] };
  return [
    { name: 'tunnel', host: TUNNEL_HOST, port: server.edgePort, ...pids },
    { name: 'tunnel', isPlain: true, host: TUNNEL_HOST, port: server.httpPort, ...pids },
    { name: 'group', host: GROUP_HOST, port: server.edgePort, ...pids },
  ];
}

async function measureRow(
  row: (typeof ROWS)[number] | typeof PLAIN_ROW,
  ways: readonly Way[],
  directory: string,
): Promise<void> {
  const run = (way: Way, count: number) =>
    h2load({
      scheme: 'https',
      ...row,
      host: way.host,
      port: way.port,
      path: '/',
      requests: count,
      headers: {},
      directory,
    });
  const round = async (way: Way): Promise<Sample> => {
    const before = { servers: cpuOf(way.servers), agents: cpuOf(way.agents) };
    const result = await run(way, REQUESTS);
    return {
      serverMicros: (cpuOf(way.servers) - before.servers) / result.requests,
      agentMicros: (cpuOf(way.agents) - before.agents) / result.requests,
      perSecond: result.requests / result.seconds,
      p50: percentile(result.latencies, 0.5),
      p99: percentile(result.latencies, 0.99),
    };
  };
  for (const way of ways) await run(way, COMPILING_REQUESTS);
  const { samples, longestWaitMs } = await takeTurns(ways, round, { rounds: ROUNDS, warmUp: WARM_UP_ROUNDS });
  say(`\n${row.title}; no contender was idle for more than ${(longestWaitMs / 1000).toFixed(1)} s before a round`);
  const beside = row.goal === null ? 'tunnel' : 'caddy';
  say(`          CPU/request: server${`× ${beside}`.padStart(10)}       agent    requests/s      p50 ms    p99 ms`);
  const figures = ways.map((way) => ({ name: way.name, ...medians(samples.get(way) ?? []) }));
  const reference = figures.find(({ name }) => name === beside)?.serverMicros;
  for (const { name, serverMicros, agentMicros, perSecond, p50, p99 } of figures) {
    const ratio = reference === undefined ? '-' : (serverMicros / reference).toFixed(2);
    const goal = name === 'caddy' || row.goal === null ? '' : `   (goal at most ${row.goal} × caddy)`;
    const agent = name === 'caddy' ? '-' : `${agentMicros.toFixed(1)} µs`;
    say(
      `${name.padEnd(12)}${`${serverMicros.toFixed(1)} µs`.padStart(17)}${ratio.padStart(10)}${agent.padStart(12)}${Math.round(perSecond).toLocaleString('en-US').padStart(14)}${p50.toFixed(2).padStart(12)}${p99.toFixed(2).padStart(10)}${goal}`,
    );
  }
}

/** In microseconds. */
function cpuOf(pids: readonly number[]): number {
  return pids.flatMap((pid) => familyOf(pid)).reduce((sum, pid) => sum + cpuNanoseconds(pid) / 1000, 0);
}

function medians(samples: readonly Sample[]): Sample {
  const of = (key: keyof Sample): number => median(samples.map((sample) => sample[key]));
  return {
    serverMicros: of('serverMicros'),
    agentMicros: of('agentMicros'),
    perSecond: of('perSecond'),
    p50: of('p50'),
    p99: of('p99'),
  };
}
