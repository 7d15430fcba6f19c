import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { say, words } from '../support/flags.ts';
import { helpIfRequested } from '../support/usage.ts';
import { lookup } from './lookup.ts';
import { memory } from './memory.ts';
import { requests } from './requests.ts';
import { scale } from './scale.ts';

/** README.md describes what each of these measures; all of them run when none is named. */
const benches: Readonly<Record<string, (directory: string) => Promise<void>>> = { requests, lookup, memory, scale };

helpIfRequested({
  script: 'bench:cluster',
  about: 'Measures several nodes of one installation. bench/cluster/README.md has the details.',
  benches: {
    requests: 'CPU of a request through the node with the agent, and through another one',
    lookup: 'cost to find a tunnel of another node, with 10 to 100,000 of them',
    memory: 'memory per 1,000 tunnels of another node',
    scale: 'requests per second of 1, 2 and 3 nodes',
  },
  flags: { '--rounds=9': 'requests: number of rounds' },
});
const unknown = words.find((word) => benches[word] === undefined);
if (unknown === undefined) await run(words.length === 0 ? Object.keys(benches) : words);
else {
  say(`unknown benchmark "${unknown}": use ${Object.keys(benches).join(', ')}`);
  process.exitCode = 2;
}

async function run(names: readonly string[]): Promise<void> {
  for (const name of names) {
    const directory = await mkdtemp(join(tmpdir(), 'postern-bench-cluster-'));
    try {
      say(`── ${name}`);
      await benches[name]?.(directory);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  }
}
