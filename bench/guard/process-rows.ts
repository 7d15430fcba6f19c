import { execFile } from 'node:child_process';
import { mkdir, mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { QUIET } from '../edge/postern.ts';
import { makeBackend, makeSite } from '../edge/sites.ts';
import { isQuick } from '../support/flags.ts';
import { h2load } from '../support/h2load.ts';
import { type Compared, interleaved } from '../support/interleaved.ts';
import { anonymousMiB, childrenCpuSeconds, cpuNanoseconds, rssMiB } from '../support/process-cost.ts';
import { API_KEY, startPosternServer } from '../support/start-program.ts';
import type { Row } from './row.ts';
import type { Side } from './sides.ts';

const run = promisify(execFile);
const START_ROUNDS = isQuick ? 2 : 20;
const CLI_ROUNDS = isQuick ? 2 : 40;
/** Several calls in a round, because the time of ended children is counted in ticks. */
const CALLS = 3;
const MEMORY_PAIRS = isQuick ? 1 : 5;
const MEMORY_REQUESTS = isQuick ? 1000 : 30_000;
const SETTLE_SECONDS = isQuick ? 1 : 45;
const KINDS = ['checkout', 'package'] as const;
const HOST = 'site.localhost';

interface Sides {
  readonly before: Side;
  readonly after: Side;
}

/** CPU until a server with an empty store is ready. */
export async function* startRows({ before, after }: Sides, directory: string): AsyncGenerator<Row> {
  for (const kind of KINDS) {
    const starts = (side: Side) => ({
      round: async () => {
        const server = await startPosternServer(await mkdtemp(join(directory, 'start-')), QUIET, side[kind]);
        const millis = cpuNanoseconds(server.pid) / 1e6;
        await server.stop();
        return millis;
      },
    });
    const compared = await interleaved(starts(before), starts(after), { rounds: START_ROUNDS, warmUp: 1 });
    yield { name: `start (${kind})`, unit: 'ms', pairs: [compared] };
  }
}

/** CPU of a short command. */
export async function* cliRows({ before, after }: Sides, directory: string): AsyncGenerator<Row> {
  const server = await startPosternServer(await mkdtemp(join(directory, 'cli-')), QUIET, after.checkout);
  const env = { ...process.env, POSTERN_API_KEY: API_KEY, POSTERN_API_URL: `http://127.0.0.1:${server.port}` };
  try {
    for (const kind of KINDS) {
      const calls = (side: Side) => ({
        round: async () => {
          const started = childrenCpuSeconds();
          for (let at = 0; at < CALLS; at += 1) {
            const args = [join(side[kind], 'bin', 'postern.mjs'), 'api', 'static-backends', 'list'];
            await run(process.execPath, args, { env });
          }
          return ((childrenCpuSeconds() - started) * 1000) / CALLS;
        },
      });
      const compared = await interleaved(calls(before), calls(after), { rounds: CLI_ROUNDS, warmUp: 1 });
      yield { name: `postern api static-backends list (${kind})`, unit: 'ms', pairs: [compared] };
    }
  } finally {
    await server.stop();
  }
}

/**
 * Memory of new servers at rest, and after the same load. All of them wait at the same time: V8 shrinks its heap only when a
 * process has been idle for half a minute.
 */
export async function* memoryRows(sides: Sides, directory: string, upstreamPort: number): AsyncGenerator<Row> {
  for (const kind of KINDS) {
    await using stack = new AsyncDisposableStack();
    const pairs: { readonly base: MemoryServer; readonly other: MemoryServer }[] = [];
    for (let pair = 0; pair < MEMORY_PAIRS; pair += 1) {
      const open = (side: Side) => openMemoryServer(side[kind], directory, upstreamPort, stack);
      pairs.push({ base: await open(sides.before), other: await open(sides.after) });
    }
    const servers = pairs.flatMap(({ base, other }) => [base, other]);
    await sleep(SETTLE_SECONDS * 1000);
    yield* rowsOf(pairs, `memory at rest (${kind})`);
    for (const server of servers) await server.load();
    await sleep(SETTLE_SECONDS * 1000);
    yield* rowsOf(pairs, `memory after load (${kind})`);
  }
}

export function* sizeRows({ before, after }: Sides): Generator<Row> {
  const sizes = { 'size of the package': 'packedMiB', 'size of the package, unpacked': 'unpackedMiB' } as const;
  for (const [name, size] of Object.entries(sizes))
    yield { name, unit: 'MiB', pairs: [{ base: [before[size]], other: [after[size]] }] };
}

interface MemoryServer {
  readonly pid: number;
  load(): Promise<void>;
}

function* rowsOf(pairs: readonly { base: MemoryServer; other: MemoryServer }[], name: string): Generator<Row> {
  for (const [field, mib] of Object.entries({ VmRSS: rssMiB, RssAnon: anonymousMiB })) {
    const compared = pairs.map(({ base, other }): Compared => ({ base: [mib(base.pid)], other: [mib(other.pid)] }));
    yield { name: `${name}, ${field}`, unit: 'MiB', pairs: compared };
  }
}

async function openMemoryServer(
  program: string,
  directory: string,
  upstreamPort: number,
  stack: AsyncDisposableStack,
): Promise<MemoryServer> {
  const dataDir = await mkdtemp(join(directory, 'memory-'));
  const server = await startPosternServer(dataDir, QUIET, program);
  stack.defer(() => server.stop());
  const { pid, port, edgePort = 0 } = server;
  await makeSite(port, HOST, await makeBackend(port, upstreamPort));
  const logs = join(dataDir, 'h2load');
  await mkdir(logs);
  const load = async (): Promise<void> => {
    for (const protocol of ['h2', 'h1'] as const) {
      const target = { protocol, host: HOST, port: edgePort, path: '/', headers: {}, directory: logs };
      await h2load({ ...target, requests: MEMORY_REQUESTS, connections: 64, streams: 10 });
    }
  };
  return { pid, load };
}
