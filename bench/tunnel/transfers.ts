import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { HOST, makeCertificates } from '../edge/certificates.ts';
import { others, startOther } from '../edge/others.ts';
import { flag, isQuick, listFlag, say } from '../support/flags.ts';
import { cpuNanoseconds, familyOf, median, quantile } from '../support/process-cost.ts';
import { startProgram } from '../support/start-program.ts';
import { takeTurns } from '../support/take-turns.ts';
import { otherTunnels, startOtherTunnel } from './other-tunnels.ts';
import { type Direction, openSession, type Place, throughHttp1, throughSession } from './transfer.ts';
import { startAgents, startTunnelServer } from './tunnel-server.ts';

const SERVICE = fileURLToPath(new URL('./bytes-service.ts', import.meta.url));
const ROUNDS = isQuick ? 2 : Number(flag('rounds') ?? 15);
/** The code of transfers is compiled first, in both directions. */
const WARM_UP_ROUNDS = isQuick ? 1 : 6;
/** Short, so that no contender is idle for a second before its round. */
const BYTES = isQuick ? 8e6 : 48e6;
const TUNNEL_HOST = 'tunnel.localhost';
const DIRECTIONS: readonly Direction[] = ['download', 'upload'];
const ROWS = { h1: 'HTTP/1.1 with TLS', h2: 'HTTP/2 with TLS', plain: 'HTTP/1.1 without TLS' } as const;
type RowName = keyof typeof ROWS;

interface Way {
  readonly name: string;
  readonly server: number;
  /** Absent: there is no tunnel. */
  readonly agent?: number;
  transfer(direction: Direction): Promise<number>;
}

/** Seconds of CPU per GB. */
interface Sample {
  readonly server: number;
  readonly agent: number;
  /** MB/s. */
  readonly rate: number;
}

type Ways = Readonly<Record<RowName, Way[]>>;

/** CPU per GB of large transfers at server and agent, beside Caddy without a tunnel, and beside frp without TLS. */
export async function transfers(directory: string): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const certificates = await makeCertificates(directory);
  const env = { BENCH_CERTIFICATE: certificates.certificateFile, BENCH_KEY: certificates.keyFile };
  const service = await startProgram([SERVICE], env);
  stack.defer(() => service.stop());
  const ways: Ways = { h1: [], h2: [], plain: [] };
  const before = flag('before');
  const checkouts = { tunnel: undefined, ...(before !== null && { before }) };
  for (const [name, checkout] of Object.entries(checkouts))
    await addPostern(ways, stack, { name, checkout, directory: join(directory, name), port: service.port });
  const only = (listFlag('rows') ?? Object.keys(ROWS)) as readonly RowName[];
  const [caddy] = others;
  const caddyDirectory = join(directory, 'caddy');
  await mkdir(caddyDirectory);
  const other =
    caddy && (await startOther(caddy, { directory: caddyDirectory, upstreamPort: service.port, certificates }));
  if (other) {
    stack.defer(() => other.stop());
    const place = { port: other.port, host: HOST, ca: [certificates.clientAuthorityPem] };
    const shared = { name: 'caddy', server: other.pid };
    ways.h1.push({ ...shared, transfer: (direction) => throughHttp1(place, direction, BYTES) });
    ways.h2.push({ ...shared, transfer: (direction) => throughHttp2(place, direction) });
  } else say('caddy is not installed: skipped');
  if (only.includes('plain')) await addFrp(ways.plain, stack, join(directory, 'frp'), service.port);
  say(`${BYTES / 1e6} MB in a round, ${ROUNDS} rounds, medians; CPU in seconds per GB, in brackets the middle half`);
  for (const row of only) for (const direction of DIRECTIONS) await measureRow(row, ways[row], direction);
}

interface PosternParts {
  readonly name: string;
  readonly checkout: string | undefined;
  readonly directory: string;
  readonly port: number;
}

async function addPostern(ways: Ways, stack: AsyncDisposableStack, parts: PosternParts): Promise<void> {
  const { name, checkout, directory, port } = parts;
  await mkdir(directory, { recursive: true });
  const server = await startTunnelServer(directory, checkout);
  stack.defer(() => server.program.stop());
  const spec = { domain: TUNNEL_HOST, addr: `127.0.0.1:${port}` };
  const agent = await startAgents(server, [
    [
      { proto: 'https', ...spec },
      { proto: 'http', ...spec },
    ],
  ]);
  stack.defer(() => agent.stop());
  const place = { port: server.edgePort, host: TUNNEL_HOST, ca: server.ca };
  const shared = { name, server: server.program.pid, agent: agent.pid };
  ways.h1.push({ ...shared, transfer: (direction) => throughHttp1(place, direction, BYTES) });
  ways.h2.push({ ...shared, transfer: (direction) => throughHttp2(place, direction) });
  const plain = { port: server.httpPort, host: TUNNEL_HOST, ca: null };
  ways.plain.push({ ...shared, transfer: (direction) => throughHttp1(plain, direction, BYTES) });
}

/** On a new connection, as over HTTP/1.1. */
async function throughHttp2(place: Place, direction: Direction): Promise<number> {
  const session = await openSession(place);
  try {
    return await throughSession(session, direction, BYTES);
  } finally {
    session.destroy();
  }
}

async function addFrp(ways: Way[], stack: AsyncDisposableStack, directory: string, port: number): Promise<void> {
  const kind = otherTunnels.find(({ name }) => name === 'frp');
  if (kind === undefined) return;
  const frp = await startOtherTunnel(kind, directory, port);
  if ('problem' in frp) {
    say(`FRP IS SKIPPED: ${frp.problem}`);
    return;
  }
  stack.defer(() => frp.stop());
  const place = { port: frp.port, host: frp.host, ca: null };
  const { server, agent } = frp;
  ways.push({ name: 'frp', server, agent, transfer: (direction) => throughHttp1(place, direction, BYTES) });
}

async function measureRow(row: RowName, ways: readonly Way[], direction: Direction): Promise<void> {
  const round = async (way: Way): Promise<Sample> => {
    const pids = [way.server, ...(way.agent === undefined ? [] : [way.agent])];
    const before = pids.map(cpuOf);
    const rate = await way.transfer(direction);
    const [server = 0, agent = 0] = pids.map((pid, at) => (cpuOf(pid) - (before[at] ?? 0)) / BYTES);
    return { server, agent, rate };
  };
  const { samples, longestWaitMs } = await takeTurns(ways, round, { rounds: ROUNDS, warmUp: WARM_UP_ROUNDS });
  say(
    `\n${ROWS[row]}, ${direction}; nobody was idle for more than ${(longestWaitMs / 1000).toFixed(1)} s before a round`,
  );
  say('            server                  × before    agent                   × before    MB/s');
  const reference = (samples.get(ways.find(({ name }) => name === 'before') as Way) ?? []) as readonly Sample[];
  for (const way of ways) {
    const own = samples.get(way) ?? [];
    const cell = (of: 'server' | 'agent'): string => {
      const ratios = own.map((sample, at) => sample[of] / (reference[at]?.[of] ?? Number.NaN));
      const ratio = median(ratios);
      return `${spread(own.map((sample) => sample[of])).padEnd(24)}${(Number.isNaN(ratio) ? '-' : ratio.toFixed(2)).padEnd(12)}`;
    };
    const agent = way.agent === undefined ? '-'.padEnd(36) : cell('agent');
    say(`${way.name.padEnd(12)}${cell('server')}${agent}${median(own.map(({ rate }) => rate)).toFixed(0)}`);
  }
}

function spread(values: readonly number[]): string {
  const [low, middle, high] = [0.25, 0.5, 0.75].map((part) => quantile(values, part).toFixed(2));
  return `${middle} (${low} to ${high})`;
}

/** Nanoseconds: divided by bytes, these are seconds per GB. */
function cpuOf(pid: number): number {
  return familyOf(pid).reduce((sum, each) => sum + cpuNanoseconds(each), 0);
}
