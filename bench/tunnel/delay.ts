import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BenchCertificates, HOST, makeCertificates } from '../edge/certificates.ts';
import { others, startOther } from '../edge/others.ts';
import { flag, isQuick, listFlag, say } from '../support/flags.ts';
import { cpuSeconds, median } from '../support/process-cost.ts';
import { type Program, startProgram } from '../support/start-program.ts';
import { type Direction, openSession, throughSession, throughTls } from './transfer.ts';
import { startAgents, startTunnelServer, type TunnelServer } from './tunnel-server.ts';

const PROXY = fileURLToPath(new URL('./delay-proxy.ts', import.meta.url));
const SERVICE = fileURLToPath(new URL('./bytes-service.ts', import.meta.url));
const DELAYS_MS = listFlag('delays')?.map(Number) ?? [0, 50, 150];
/** Width of the line, in MB/s. */
const WIDTHS = listFlag('widths')?.map(Number) ?? [100, Number.POSITIVE_INFINITY];
const MEGABYTES = isQuick ? 40 : 240;
const ROUNDS = isQuick ? 1 : Number(flag('rounds') ?? 3);
const DIRECTIONS: readonly Direction[] = ['download', 'upload'];

/** One path from this process to the service. */
interface Way {
  readonly name: 'tunnel' | 'caddy' | 'plain TLS';
  /** Processes whose CPU time it takes, beside this one, in the order in which bytes pass. */
  readonly pids: Readonly<Record<string, number>>;
  /** MB/s. */
  transfer(direction: Direction, bytes: number): Promise<number>;
}

interface Sample {
  readonly rate: number;
  /** CPU seconds per GB of each process, in the order of `pids`, preceded by this one. */
  readonly cost: readonly number[];
}

interface World {
  readonly stack: AsyncDisposableStack;
  readonly directory: string;
  readonly certificates: BenchCertificates;
  readonly service: Program;
  readonly server: TunnelServer;
}

/**
 * MB/s of one stream, with a delaying proxy between agent and server, beside a plain TLS connection and beside Caddy in
 * front of the service, both through such a proxy. The delay is that of a round trip, half of it each way. On a line of
 * a given width the figure shows what protocol and windows achieve; without one it also shows what the machine can do:
 * so CPU time is reported with it.
 */
export async function delay(directory: string): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const certificates = await makeCertificates(directory);
  const env = { BENCH_CERTIFICATE: certificates.certificateFile, BENCH_KEY: certificates.keyFile };
  const service = await keep(stack, startProgram([SERVICE], env));
  const server = await startTunnelServer(directory);
  stack.defer(() => server.program.stop());
  const world: World = { stack, directory, certificates, service, server };
  say(`one stream, ${MEGABYTES} MB, MB/s, medians of ${ROUNDS} rounds (goal: at least 80 % of a plain TLS connection)`);
  say('line        delay   direction   way          MB/s   of TLS   of Caddy   CPU s per GB: of it');
  for (const width of WIDTHS) for (const delayMs of DELAYS_MS) await measureLine(world, width, delayMs);
}

async function measureLine(world: World, width: number, delayMs: number): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const ways = await openWays({ ...world, stack }, width, delayMs);
  const lineName = width === Number.POSITIVE_INFINITY ? 'unlimited' : `${width} MB/s`;
  for (const direction of DIRECTIONS) {
    const samples = new Map<Way, Sample[]>(ways.map((way) => [way, []]));
    // The agent is new: its code is compiled first, where nothing else limits it.
    const warmUp = width === Number.POSITIVE_INFINITY ? MEGABYTES : MEGABYTES / 4;
    for (const way of ways) await way.transfer(direction, warmUp * 1e6);
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const way of ways) samples.get(way)?.push(await measure(way, direction));
    }
    const rateOf = (name: Way['name']): number => {
      const way = ways.find((each) => each.name === name);
      return median((way === undefined ? [] : (samples.get(way) ?? [])).map(({ rate }) => rate));
    };
    for (const way of ways) {
      const place = `${lineName.padEnd(12)}${`${delayMs} ms`.padEnd(8)}${direction.padEnd(12)}`;
      const rate = rateOf(way.name);
      const share = (of: Way['name']): string =>
        way.name === of || Number.isNaN(rateOf(of)) ? '-' : `${((rate / rateOf(of)) * 100).toFixed(0)} %`;
      const figures = `${rate.toFixed(0).padStart(7)}${share('plain TLS').padStart(9)}${share('caddy').padStart(11)}`;
      say(`${place}${way.name.padEnd(10)}${figures}   ${costText(way, samples.get(way) ?? [])}`);
    }
  }
}

async function measure(way: Way, direction: Direction): Promise<Sample> {
  const costs = (): readonly number[] => [process.pid, ...Object.values(way.pids)].map((pid) => cpuSeconds(pid));
  const before = costs();
  const rate = await way.transfer(direction, MEGABYTES * 1e6);
  const cost = costs().map((seconds, at) => ((seconds - (before[at] ?? 0)) / MEGABYTES) * 1000);
  return { rate, cost };
}

function costText(way: Way, samples: readonly Sample[]): string {
  const names = ['client', ...Object.keys(way.pids)];
  const each = names.map((_, at) => median(samples.map(({ cost }) => cost[at] ?? Number.NaN)));
  const sum = each.reduce((total, seconds) => total + seconds, 0);
  return `${sum.toFixed(1).padStart(5)}: ${names.map((name, at) => `${name} ${each[at]?.toFixed(1)}`).join(', ')}`;
}

async function openWays({ stack, ...world }: World, width: number, delayMs: number): Promise<readonly Way[]> {
  const { service, server, certificates } = world;
  const line = (port: number | undefined): Promise<Program> => {
    const env = { BENCH_ONE_WAY_MS: String(delayMs / 2), BENCH_BYTES_PER_MS: String(width * 1000) };
    return keep(stack, startProgram([PROXY], { BENCH_TARGET: String(port), ...env }));
  };
  const toServer = await line(server.tunnelPort);
  const host = `at-${delayMs}-${width}.tunnel.localhost`.toLowerCase();
  const spec = { proto: 'https', domain: host, addr: `127.0.0.1:${service.port}` } as const;
  const agent = await keep(stack, startAgents(server, [[spec]], toServer.port));
  const session = await openSession({ port: server.edgePort, host, ca: server.ca });
  stack.defer(() => session.destroy());
  const tunnel: Way = {
    name: 'tunnel',
    pids: { server: server.program.pid, line: toServer.pid, agent: agent.pid, service: service.pid },
    transfer: (direction, bytes) => throughSession(session, direction, bytes),
  };
  const toService = await line(service.edgePort);
  const ca = [certificates.clientAuthorityPem];
  const plain: Way = {
    name: 'plain TLS',
    pids: { line: toService.pid, service: service.pid },
    transfer: (direction, bytes) => throughTls({ port: toService.port, host: HOST, ca }, direction, bytes),
  };
  const caddy = await openCaddy({ stack, ...world }, await line(service.port), `${delayMs}-${width}`);
  return caddy === null ? [tunnel, plain] : [tunnel, caddy, plain];
}

/**
 * In front of the service and not of an agent: its side of the line is neither encrypted nor shared. Null when it is
 * not installed.
 */
async function openCaddy({ stack, service, ...world }: World, line: Program, name: string): Promise<Way | null> {
  const directory = join(world.directory, `caddy-${name}`);
  await mkdir(directory);
  const [other] = others;
  const { certificates } = world;
  const caddy = other && (await startOther(other, { directory, upstreamPort: line.port, certificates }));
  if (!caddy) return null;
  stack.defer(() => caddy.stop());
  const session = await openSession({ port: caddy.port, host: HOST, ca: [certificates.clientAuthorityPem] });
  stack.defer(() => session.destroy());
  return {
    name: 'caddy',
    pids: { caddy: caddy.pid, line: line.pid, service: service.pid },
    transfer: (direction, bytes) => throughSession(session, direction, bytes),
  };
}

async function keep(stack: AsyncDisposableStack, program: Promise<Program>): Promise<Program> {
  const started = await program;
  stack.defer(() => started.stop());
  return started;
}
