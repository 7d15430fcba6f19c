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
const SETTLE_SECONDS = isQuick ? 1 : 4;
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

/** Memory of new servers at rest, and some seconds after the same load. */
export async function* memoryRows(
  { before, after }: Sides,
  directory: string,
  upstreamPort: number,
): AsyncGenerator<Row> {
  for (const kind of KINDS) {
    const samples: { readonly base: Memory; readonly other: Memory }[] = [];
    for (let pair = 0; pair < MEMORY_PAIRS; pair += 1) {
      const [base, other] = await Promise.all(
        [before, after].map((side) => memoryOf(side[kind], directory, upstreamPort)),
      );
      if (base !== undefined && other !== undefined) samples.push({ base, other });
    }
    for (const name of Object.keys(samples[0]?.base ?? {}) as (keyof Memory)[]) {
      const pairs = samples.map(({ base, other }): Compared => ({ base: [base[name]], other: [other[name]] }));
      yield { name: `memory ${name} (${kind})`, unit: 'MiB', pairs };
    }
  }
}

export function* sizeRows({ before, after }: Sides): Generator<Row> {
  const sizes = { 'size of the package': 'packedMiB', 'size of the package, unpacked': 'unpackedMiB' } as const;
  for (const [name, size] of Object.entries(sizes))
    yield { name, unit: 'MiB', pairs: [{ base: [before[size]], other: [after[size]] }] };
}

type Memory = Readonly<
  Record<'at rest, VmRSS' | 'at rest, RssAnon' | 'after load, VmRSS' | 'after load, RssAnon', number>
>;

async function memoryOf(program: string, directory: string, upstreamPort: number): Promise<Memory> {
  const dataDir = await mkdtemp(join(directory, 'memory-'));
  const server = await startPosternServer(dataDir, QUIET, program);
  try {
    const { pid, port } = server;
    await makeSite(port, HOST, await makeBackend(port, upstreamPort));
    await sleep(SETTLE_SECONDS * 1000);
    const rest = { rss: rssMiB(pid), anonymous: anonymousMiB(pid) };
    const logs = join(dataDir, 'h2load');
    await mkdir(logs);
    for (const protocol of ['h2', 'h1'] as const) {
      const target = { protocol, host: HOST, port: server.edgePort ?? 0, path: '/', headers: {}, directory: logs };
      await h2load({ ...target, requests: MEMORY_REQUESTS, connections: 64, streams: 10 });
    }
    await sleep(SETTLE_SECONDS * 1000);
    return {
      'at rest, VmRSS': rest.rss,
      'at rest, RssAnon': rest.anonymous,
      'after load, VmRSS': rssMiB(pid),
      'after load, RssAnon': anonymousMiB(pid),
    };
  } finally {
    await server.stop();
  }
}
