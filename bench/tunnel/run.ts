import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { say, words } from '../support/flags.ts';
import { delay } from './delay.ts';
import { idle } from './idle.ts';
import { reconnect } from './reconnect.ts';
import { requests } from './requests.ts';
import { bulk } from './small-beside-bulk.ts';

/** README.md describes what each of these measures; all of them run when none is named. */
const benches: Readonly<Record<string, (directory: string) => Promise<void>>> = {
  requests,
  delay,
  bulk,
  idle,
  reconnect,
};

const unknown = words.find((word) => benches[word] === undefined);
if (unknown === undefined) await run(words.length === 0 ? Object.keys(benches) : words);
else say(`there is no bench "${unknown}"; there are: ${Object.keys(benches).join(', ')}`);

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
