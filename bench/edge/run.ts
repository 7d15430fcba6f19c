import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { say, words } from '../support/flags.ts';
import { compare } from './comparison.ts';
import { idle } from './idle.ts';
import { manyEdges } from './many-edges.ts';
import { storms } from './storms.ts';

/** README.md describes what each of these measures; all of them run when none is named. */
const benches: Readonly<Record<string, (directory: string) => Promise<void>>> = {
  compare,
  storms,
  edges: manyEdges,
  idle,
};

const unknown = words.find((word) => benches[word] === undefined);
if (unknown === undefined) await run(words.length === 0 ? Object.keys(benches) : words);
else say(`there is no bench "${unknown}"; there are: ${Object.keys(benches).join(', ')}`);

async function run(names: readonly string[]): Promise<void> {
  for (const name of names) {
    const directory = await mkdtemp(join(tmpdir(), 'postern-bench-edge-'));
    try {
      say(`── ${name}`);
      await benches[name]?.(directory);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  }
}
