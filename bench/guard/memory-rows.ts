import { mkdir, mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startIdleConnections } from '../edge/idle.ts';
import { makeBackend, makeSite, makeSites } from '../edge/sites.ts';
import { isQuick } from '../support/flags.ts';
import { h2load } from '../support/h2load.ts';
import type { Compared } from '../support/interleaved.ts';
import { anonymousMiB, rssMiB } from '../support/process-cost.ts';
import { heapMiB, type InspectedProgram } from '../support/v8-heap.ts';
import { freePort, startAgentCommand, startTunnelServer } from '../tunnel/tunnel-server.ts';
import type { Row } from './row.ts';
import type { Side, Sides } from './sides.ts';

const PAIRS = isQuick ? 1 : 3;
const REQUESTS = isQuick ? 1000 : 30_000;
const CONNECTIONS = isQuick ? 100 : 2000;
const EDGES = isQuick ? 100 : 10_000;
/** A process gives memory back when it has been idle for 25 to 50 seconds. */
const SETTLE_MS = isQuick ? 1000 : 60_000;
const HOST = 'site.localhost';
const KIB_PER_MIB = 1024;

interface MemoryWorld {
  readonly server: InspectedProgram;
  readonly agent: InspectedProgram;
  load(): Promise<void>;
  /** Opens idle connections, and waits until the program has settled. */
  holdConnections(protocol: 'h1' | 'h2'): Promise<() => Promise<void>>;
}

type Pair = Readonly<Record<'base' | 'other', MemoryWorld>>;

/** Memory of servers and agents on an existing data directory. All of them wait at the same time. */
export async function* memoryRows(sides: Sides, directory: string, upstreamPort: number): AsyncGenerator<Row> {
  for (const kind of ['checkout', 'package'] as const) {
    await using stack = new AsyncDisposableStack();
    const pairs: Pair[] = [];
    for (let pair = 0; pair < PAIRS; pair += 1) {
      const open = (side: Side) => openWorld(side[kind], directory, upstreamPort, stack);
      pairs.push({ base: await open(sides.before), other: await open(sides.after) });
    }
    await sleep(SETTLE_MS);
    yield* rowsOf(pairs, `server at rest (${kind})`, ({ server }) => server.pid);
    yield* rowsOf(pairs, `agent at rest (${kind})`, ({ agent }) => agent.pid);
    for (const world of worldsOf(pairs)) await world.load();
    await sleep(SETTLE_MS);
    yield* rowsOf(pairs, `server after load (${kind})`, ({ server }) => server.pid);
    if (kind === 'package') yield* connectionRows(pairs);
    for (const program of ['server', 'agent'] as const) yield await heapRow(pairs, program, kind);
  }
  yield await edgeRow(sides, directory);
}

async function* connectionRows(pairs: readonly Pair[]): AsyncGenerator<Row> {
  for (const protocol of ['h1', 'h2'] as const) {
    const before = eachWorld(pairs, ({ server }) => rssMiB(server.pid));
    const closers: (() => Promise<void>)[] = [];
    for (const world of worldsOf(pairs)) closers.push(await world.holdConnections(protocol));
    await sleep(SETTLE_MS);
    const held = eachWorld(pairs, ({ server }) => rssMiB(server.pid));
    for (const close of closers) await close();
    const each = (side: 'base' | 'other', at: number): number =>
      (((held[at]?.[side][0] ?? 0) - (before[at]?.[side][0] ?? 0)) * KIB_PER_MIB) / CONNECTIONS;
    const compared = pairs.map((_, at): Compared => ({ base: [each('base', at)], other: [each('other', at)] }));
    yield { name: `idle TLS connection, ${protocol === 'h1' ? 'HTTP/1.1' : 'HTTP/2'}`, unit: 'KiB', pairs: compared };
    await sleep(SETTLE_MS);
  }
}

async function heapRow(pairs: readonly Pair[], program: 'server' | 'agent', kind: string): Promise<Row> {
  const compared: Compared[] = [];
  for (const { base, other } of pairs)
    compared.push({ base: [await heapMiB(base[program])], other: [await heapMiB(other[program])] });
  return { name: `heap of the ${program} (${kind})`, unit: 'MiB', pairs: compared };
}

/** What edges add to a server, after a start with them. */
async function edgeRow({ before, after }: Sides, directory: string): Promise<Row> {
  const added = async (side: Side): Promise<number> => {
    await using stack = new AsyncDisposableStack();
    const anonymous: number[] = [];
    for (const edges of [0, EDGES]) {
      const folder = await mkdtemp(join(directory, 'edges-'));
      const filling = await startTunnelServer(folder, side.package);
      await makeSites(filling.program.port, edges);
      await filling.program.stop();
      const { program } = await filling.again();
      stack.defer(() => program.stop());
      await sleep(SETTLE_MS);
      anonymous.push(anonymousMiB(program.pid));
    }
    return (anonymous[1] ?? 0) - (anonymous[0] ?? 0);
  };
  const pairs = [{ base: [await added(before)], other: [await added(after)] }];
  return { name: `${EDGES.toLocaleString('en-US')} edges (package), RssAnon`, unit: 'MiB', pairs };
}

function* rowsOf(pairs: readonly Pair[], name: string, pidOf: (world: MemoryWorld) => number): Generator<Row> {
  for (const [field, mib] of Object.entries({ VmRSS: rssMiB, RssAnon: anonymousMiB }))
    yield { name: `${name}, ${field}`, unit: 'MiB', pairs: eachWorld(pairs, (world) => mib(pidOf(world))) };
}

function eachWorld(pairs: readonly Pair[], measure: (world: MemoryWorld) => number): Compared[] {
  return pairs.map(({ base, other }) => ({ base: [measure(base)], other: [measure(other)] }));
}

function worldsOf(pairs: readonly Pair[]): readonly MemoryWorld[] {
  return pairs.flatMap(({ base, other }) => [base, other]);
}

async function openWorld(
  program: string,
  directory: string,
  upstreamPort: number,
  stack: AsyncDisposableStack,
): Promise<MemoryWorld> {
  const folder = await mkdtemp(join(directory, 'memory-'));
  const [serverPort, agentPort] = [await freePort(), await freePort()];
  const filling = await startTunnelServer(folder, program, inspectable(serverPort));
  await makeSite(filling.program.port, HOST, await makeBackend(filling.program.port, upstreamPort));
  await filling.program.stop();
  const running = await filling.again();
  stack.defer(() => running.program.stop());
  const agent = await startAgentCommand(running, upstreamPort, inspectable(agentPort));
  stack.defer(() => agent.stop());
  const logs = join(folder, 'h2load');
  await mkdir(logs);
  const target = { host: HOST, port: running.edgePort, path: '/', headers: {}, directory: logs };
  return {
    server: { pid: running.program.pid, inspectPort: serverPort },
    agent: { pid: agent.pid, inspectPort: agentPort },
    load: async () => {
      for (const protocol of ['h2', 'h1'] as const)
        await h2load({ ...target, protocol, requests: REQUESTS, connections: 64, streams: 10 });
    },
    holdConnections: async (protocol) => {
      const crowd = await startIdleConnections({ port: running.edgePort, host: HOST, protocol, count: CONNECTIONS });
      return () => crowd.stop();
    },
  };
}

function inspectable(port: number): Readonly<Record<string, string>> {
  // `http`: the inspector prints nothing. Idle connections must outlive the settling.
  const options = `--inspect-port=127.0.0.1:${port} --inspect-publish-uid=http`;
  return { NODE_OPTIONS: options, POSTERN_EDGE_IDLE_TIMEOUT: '1800' };
}
