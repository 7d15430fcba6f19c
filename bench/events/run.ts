import { mkdtemp, rm } from 'node:fs/promises';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { say, words } from '../support/flags.ts';
import { helpIfRequested } from '../support/usage.ts';
import { burst } from './burst.ts';
import { deliveries } from './deliveries.ts';
import { latency } from './latency.ts';
import { pending } from './pending.ts';

/** README.md describes what each of these measures; all of them run when none is named. */
const benches: Readonly<Record<string, (directory: string) => Promise<void>>> = {
  burst,
  deliveries,
  latency,
  pending,
};

helpIfRequested({
  script: 'bench:events',
  about: 'Measures recording and delivery of events. bench/events/README.md has the details.',
  benches: {
    burst: 'a burst of changes without a subscription, with a paused destination, and with deliveries',
    deliveries: 'deliveries per second of pending events, through one lane and through 16',
    latency: 'time from the response to a change to the arrival of its event',
    pending: 'start, memory and a list page with 1,000,000 pending deliveries',
  },
  flags: {
    '--engines=sqlite': 'only this engine: sqlite or postgres',
    '--rounds=9': 'burst: number of rounds',
    '--changes=10000': 'burst: changes per round',
  },
});
say(`${cpus()[0]?.model}, ${cpus().length} cores, Node ${process.version}, log level info to a file`);
const unknown = words.find((word) => benches[word] === undefined);
if (unknown === undefined) await run(words.length === 0 ? Object.keys(benches) : words);
else {
  say(`unknown benchmark "${unknown}": use ${Object.keys(benches).join(', ')}`);
  process.exitCode = 2;
}

async function run(names: readonly string[]): Promise<void> {
  for (const name of names) {
    const directory = await mkdtemp(join(tmpdir(), 'postern-bench-events-'));
    try {
      say(`── ${name} (load average ${loadText()})`);
      await benches[name]?.(directory);
      say(`   load average at the end ${loadText()}`);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  }
}

/** Other work on the machine shows in it, and so does the bench's own. */
function loadText(): string {
  return loadavg()
    .map((value) => value.toFixed(1))
    .join(' ');
}
