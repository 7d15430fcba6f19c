import { mkdtemp, rm } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createIdentityProvider } from '../../tools/dev-idp/create-identity-provider.ts';
import { flag, isQuick, say, words } from '../support/flags.ts';
import { ratioOf } from '../support/interleaved.ts';
import { openBench } from '../support/open-bench.ts';
import { helpIfRequested } from '../support/usage.ts';
import { cliRows, memoryRows, sizeRows, startRows } from './process-rows.ts';
import { afterIdlingRow, requestRows, type WorldPair } from './request-rows.ts';
import { isMarked, type Row, tableHead, tableLine } from './row.ts';
import { prepareSide, type Side } from './sides.ts';
import { openWorld } from './world.ts';

const CHECKOUT = fileURLToPath(new URL('../../', import.meta.url));
/** Two processes of the same program differ by some percent for as long as they run: each pair is another sample. */
const PAIRS = isQuick ? 1 : 4;

interface Bench {
  readonly sides: { readonly before: Side; readonly after: Side };
  readonly directory: string;
  readonly upstreamPort: number;
}

const parts: Readonly<Record<string, (bench: Bench) => AsyncIterable<Row> | Iterable<Row>>> = {
  requests,
  start: ({ sides, directory }) => startRows(sides, directory),
  cli: ({ sides, directory }) => cliRows(sides, directory),
  memory: ({ sides, directory, upstreamPort }) => memoryRows(sides, directory, upstreamPort),
  size: ({ sides }) => sizeRows(sides),
};

helpIfRequested({
  script: 'bench:guard',
  about:
    'Compares what this checkout costs with another one, in one interleaved run of about ten minutes. Exits with 1 when a\nrow costs more than 1.05 × and more than chance explains. bench/guard/README.md has the details.',
  benches: {
    requests: 'CPU per request: visitors, logins, tunnels, API, and after ten idle seconds',
    start: 'CPU of a start, from the checkout and from the package',
    cli: 'CPU of a "postern api" call, from the checkout and from the package',
    memory: 'memory at rest and after load, from the checkout and from the package',
    size: 'size of the package',
  },
  flags: { '--before=DIR': 'the checkout to compare with; "npm ci" must have been run there (required)' },
});

const before = flag('before');
const unknown = words.find((word) => parts[word] === undefined);
if (before === null) refuse('--before=DIR is missing: give the checkout to compare with');
else if (unknown !== undefined) refuse(`unknown part "${unknown}": use ${Object.keys(parts).join(', ')}`);
else await guard(before, words.length === 0 ? Object.keys(parts) : words);

async function guard(beforeCheckout: string, names: readonly string[]): Promise<void> {
  await using bench = await openBench();
  if (bench === null) {
    process.exitCode = 2;
    return;
  }
  const directory = await mkdtemp(join(tmpdir(), 'postern-bench-guard-'));
  bench.stack.defer(() => rm(directory, { recursive: true, force: true }));
  say(`${cpus()[0]?.model}, ${cpus().length} cores, Node ${process.version}; building both packages`);
  const sides = {
    before: await prepareSide(beforeCheckout, join(directory, 'package-before')),
    after: await prepareSide(CHECKOUT, join(directory, 'package-after')),
  };
  say(`\n${tableHead()}`);
  let marked = 0;
  for (const name of names) {
    for await (const row of parts[name]?.({ sides, directory, upstreamPort: bench.upstream.port }) ?? []) {
      say(tableLine(row));
      if (isMarked(ratioOf(row.pairs))) marked += 1;
    }
  }
  say(marked === 0 ? '\nNo row costs more.' : `\n${marked} rows cost more.`);
  if (marked > 0) process.exitCode = 1;
}

async function* requests({ sides, directory, upstreamPort }: Bench): AsyncGenerator<Row> {
  await using stack = new AsyncDisposableStack();
  const provider = await createIdentityProvider();
  stack.defer(() => provider.stop());
  const pairs: WorldPair[] = [];
  for (let at = 0; at < PAIRS; at += 1) {
    const open = (name: 'before' | 'after') =>
      openWorld(join(directory, `${name}-${at}`), sides[name].checkout, { upstreamPort, provider, stack });
    // The one that started first must not always be the same side.
    const first = at % 2 === 0 ? 'before' : 'after';
    const [one, two] = [await open(first), await open(first === 'before' ? 'after' : 'before')];
    pairs.push(first === 'before' ? { before: one, after: two } : { before: two, after: one });
  }
  yield* requestRows(pairs, directory);
  yield await afterIdlingRow(pairs, directory);
}

function refuse(problem: string): void {
  say(problem);
  process.exitCode = 2;
}
