import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { say, words } from '../support/flags.ts';
import { helpIfRequested } from '../support/usage.ts';
import { delay } from './delay.ts';
import { idle } from './idle.ts';
import { reconnect } from './reconnect.ts';
import { requests } from './requests.ts';
import { bulk } from './small-beside-bulk.ts';
import { transfers } from './transfers.ts';

/** README.md describes what each of these measures; all of them run when none is named. */
const benches: Readonly<Record<string, (directory: string) => Promise<void>>> = {
  requests,
  transfers,
  delay,
  bulk,
  idle,
  reconnect,
};

helpIfRequested({
  script: 'bench:tunnel',
  about: 'Measures requests and transfers through tunnels. bench/tunnel/README.md has the details.',
  benches: {
    requests: 'CPU per request at the server and the agent, next to Caddy without a tunnel',
    transfers: 'CPU per GB at the server and the agent, in both directions',
    delay: 'throughput of one stream at several round-trip times, next to plain TLS',
    bulk: 'latency of small requests during an upload through the same tunnel',
    idle: 'memory per 1,000 idle tunnels',
    reconnect: 'time from a kill of the server to the first response',
  },
  flags: {
    '--rows=h1': 'requests, transfers: only these kinds of requests (h1, h2, plain)',
    '--rounds=9': 'requests, transfers: number of rounds',
    '--before=DIR': 'requests, transfers: also measure the server and the agent of another checkout',
    '--delays=0,50': 'delay: round-trip times in ms',
    '--widths=40,Infinity': 'delay: widths of the link in MB/s',
  },
});
const unknown = words.find((word) => benches[word] === undefined);
if (unknown === undefined) await run(words.length === 0 ? Object.keys(benches) : words);
else {
  say(`unknown benchmark "${unknown}": use ${Object.keys(benches).join(', ')}`);
  process.exitCode = 2;
}

async function run(names: readonly string[]): Promise<void> {
  for (const name of names) {
    const directory = await mkdtemp(join(tmpdir(), 'postern-bench-tunnel-'));
    try {
      say(`── ${name}`);
      await benches[name]?.(directory);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  }
}
