import { execFile } from 'node:child_process';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { QUIET } from '../edge/postern.ts';
import { isQuick } from '../support/flags.ts';
import { interleaved } from '../support/interleaved.ts';
import { childrenCpuSeconds, cpuNanoseconds } from '../support/process-cost.ts';
import { API_KEY, startPosternServer } from '../support/start-program.ts';
import type { Row } from './row.ts';
import type { Side, Sides } from './sides.ts';

const run = promisify(execFile);
const START_ROUNDS = isQuick ? 2 : 20;
const CLI_ROUNDS = isQuick ? 2 : 40;
/** Several calls in a round, because the time of ended children is counted in ticks. */
const CALLS = 3;
const KINDS = ['checkout', 'package'] as const;

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
  const env = { ...process.env, POSTERN_CLI_API_KEY: API_KEY, POSTERN_CLI_API_URL: `http://127.0.0.1:${server.port}` };
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

export function* sizeRows({ before, after }: Sides): Generator<Row> {
  const sizes = { 'size of the package': 'packedMiB', 'size of the package, unpacked': 'unpackedMiB' } as const;
  for (const [name, size] of Object.entries(sizes))
    yield { name, unit: 'MiB', pairs: [{ base: [before[size]], other: [after[size]] }] };
}
