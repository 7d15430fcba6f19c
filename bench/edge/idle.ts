import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { isQuick, listFlag, say } from '../support/flags.ts';
import { familyOf, median, rssMiB } from '../support/process-cost.ts';
import { type Program, startProgram } from '../support/start-program.ts';
import { HOST, makeCertificates } from './certificates.ts';
import type { Contender, ContenderOptions } from './contender.ts';
import { others, startOther } from './others.ts';
import { startPostern } from './postern.ts';
import { UPSTREAM } from './upstream-file.ts';

const CONNECTIONS = isQuick ? 200 : 2000;
const CLIENT = fileURLToPath(new URL('./idle-client.ts', import.meta.url));
/** Time to return memory that was needed only to open them, as far as it is returned without being asked. */
const SETTLE_MS = isQuick ? 500 : 5000;
const PROTOCOLS = ['h1', 'h2'] as const;

interface Weighed {
  readonly before: number;
  readonly after: number;
}

/** Resident memory of idle TLS connections: one request each, then silence. */
export async function idle(directory: string): Promise<void> {
  const certificates = await makeCertificates(directory);
  await using stack = new AsyncDisposableStack();
  const upstream = await startProgram([UPSTREAM], {});
  stack.defer(() => upstream.stop());
  say(`${CONNECTIONS} idle TLS connections`);
  say('                    RSS before        RSS with       per connection');
  const wanted = listFlag('only');
  for (const name of ['postern', ...others.map((other) => other.name)]) {
    if (wanted?.includes(name) === false) continue;
    for (const protocol of PROTOCOLS) {
      const own = join(directory, `${name}-${protocol}`);
      await mkdir(own);
      const contender = await start(name, { directory: own, upstreamPort: upstream.port, certificates });
      if (contender === null) {
        say(`${name} is not installed: skipped`);
        break;
      }
      try {
        const { before, after } = await weigh(contender, protocol);
        const each = ((after - before) * 1024) / CONNECTIONS;
        say(
          `${`${name} ${protocol}`.padEnd(14)}${`${before.toFixed(0)} MiB`.padStart(16)}${`${after.toFixed(0)} MiB`.padStart(16)}${`${each.toFixed(1)} KiB`.padStart(21)}`,
        );
      } finally {
        await contender.stop();
      }
    }
  }
}

/** Opens connections with one request each. They are closed when the program is stopped. */
export function startIdleConnections(options: {
  readonly port: number;
  readonly host: string;
  readonly protocol: 'h1' | 'h2';
  readonly count: number;
}): Promise<Program> {
  const { port, host, protocol, count } = options;
  return startProgram([CLIENT, String(port), host, protocol, String(count)], {});
}

function start(name: string, options: ContenderOptions): Promise<Contender | null> {
  if (name === 'postern') return startPostern(name, options);
  const other = others.find((candidate) => candidate.name === name);
  return other === undefined ? Promise.resolve(null) : startOther(other, options);
}

/**
 * A few connections come and go first, so that code loaded at the first connection does not count; only few, since a
 * crowd's memory stays.
 */
async function weigh(contender: Contender, protocol: 'h1' | 'h2'): Promise<Weighed> {
  const arrive = (count: number) => startIdleConnections({ port: contender.port, host: HOST, protocol, count });
  const first = await arrive(CONNECTIONS / 20);
  await first.stop();
  await sleep(SETTLE_MS);
  const before = await rss(contender);
  const crowd = await arrive(CONNECTIONS);
  try {
    await sleep(SETTLE_MS);
    return { before, after: await rss(contender) };
  } finally {
    await crowd.stop();
  }
}

async function rss({ pid }: Contender): Promise<number> {
  const samples: number[] = [];
  for (let at = 0; at < 5; at += 1) {
    samples.push(familyOf(pid).reduce((sum, member) => sum + rssMiB(member), 0));
    await sleep(50);
  }
  return median(samples);
}
