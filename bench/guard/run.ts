import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createIdentityProvider } from '../../tools/dev-idp/create-identity-provider.ts';
import { comparedSettings } from '../edge/settings-cost.ts';
import { flag, isQuick, say, words } from '../support/flags.ts';
import { ratioOf } from '../support/interleaved.ts';
import { openBench } from '../support/open-bench.ts';
import { helpIfRequested } from '../support/usage.ts';
import { memoryRows } from './memory-rows.ts';
import { moduleRows } from './module-rows.ts';
import { cliRows, sizeRows, startRows } from './process-rows.ts';
import { AFTER_IDLING, afterIdlingRow, requestRows, type WorldPair } from './request-rows.ts';
import { isMarked, type Row, tableHead, tableLine } from './row.ts';
import { packedSide, problemOf, type Side } from './sides.ts';
import { openWorld } from './world.ts';

const CHECKOUT = fileURLToPath(new URL('../../', import.meta.url));
/** Two processes of the same program differ by some percent for as long as they run: each pair is another sample. */
const PAIRS = isQuick ? 1 : 4;

interface Sides<Each> {
  readonly before: Each;
  readonly after: Each;
}

interface Bench {
  readonly checkouts: Sides<string>;
  /** Only rows whose names this accepts. */
  readonly wants: (name: string) => boolean;
  /** Both are built when a part first needs them. */
  readonly packed: () => Promise<Sides<Side>>;
  readonly directory: string;
  readonly upstreamPort: number;
}

const PARTS: Readonly<Record<string, (bench: Bench) => AsyncIterable<Row>>> = {
  requests,
  identity,
  start: async function* ({ packed, directory }) {
    yield* startRows(await packed(), directory);
  },
  cli: async function* ({ packed, directory }) {
    yield* cliRows(await packed(), directory);
  },
  memory: async function* ({ packed, directory, upstreamPort }) {
    yield* memoryRows(await packed(), directory, upstreamPort);
  },
  size: async function* ({ packed }) {
    yield* sizeRows(await packed());
  },
  modules: async function* ({ checkouts, directory, upstreamPort, wants }) {
    yield* moduleRows({ checkout: checkouts.after, directory, upstreamPort }, wants);
  },
};
/** Compared when it is named: it is about this checkout alone, and takes some minutes. */
const ONLY_IF_NAMED = ['modules'];

helpIfRequested({
  script: 'bench:guard',
  about:
    'Compares what this checkout costs with another one, in one interleaved run of about ten minutes. Exits with 1 when a\nrow costs more than 1.05 × and more than chance explains, twice. bench/guard/README.md has the details.',
  benches: {
    requests: 'CPU per request: visitors, logins, tunnels, API, and after ten idle seconds',
    identity: 'CPU per request of this checkout with the identity host ("after") and without ("before")',
    start: 'CPU of a start, from the checkout and from the package',
    cli: 'CPU of a "postern api" call, from the checkout and from the package',
    memory: 'memory of server and agent: at rest, after load, per idle connection, of 10,000 edges',
    size: 'size of the package',
    modules:
      'CPU per request of this checkout to a site with a module ("after") and without ("before"); only if it is named',
  },
  flags: {
    '--before=DIR': 'the checkout to compare with; "npm ci" must have been run there (required)',
    '--rows=TEXT': 'only the rows whose names contain this',
  },
});

const given = flag('before');
const before = given === null ? '' : resolve(given);
const problem = problemOfCall();
if (problem !== null) {
  say(problem);
  process.exitCode = 2;
} else await guard(words.length === 0 ? Object.keys(PARTS).filter((part) => !ONLY_IF_NAMED.includes(part)) : words);

function problemOfCall(): string | null {
  if (given === null) return '--before=DIR is missing: give the checkout to compare with';
  const unknown = words.find((word) => PARTS[word] === undefined);
  if (unknown !== undefined) return `unknown part "${unknown}": use ${Object.keys(PARTS).join(', ')}`;
  return problemOf(before);
}

async function guard(names: readonly string[]): Promise<void> {
  await using bench = await openBench();
  if (bench === null) {
    process.exitCode = 2;
    return;
  }
  const directory = await mkdtemp(join(tmpdir(), 'postern-bench-guard-'));
  bench.stack.defer(() => rm(directory, { recursive: true, force: true }));
  const checkouts = { before, after: CHECKOUT };
  say(`${cpus()[0]?.model}, ${cpus().length} cores, Node ${process.version}`);
  let built: Promise<Sides<Side>> | null = null;
  const build = async (): Promise<Sides<Side>> => ({
    before: await packedSide(checkouts.before, join(directory, 'package-before')),
    after: await packedSide(checkouts.after, join(directory, 'package-after')),
  });
  const packed = (): Promise<Sides<Side>> => {
    built ??= build();
    return built;
  };
  say(`\n${tableHead()}`);
  let attempt = 0;
  const measure = async (parts: readonly string[], wants: (name: string) => boolean): Promise<readonly Marked[]> => {
    attempt += 1;
    const marked: Marked[] = [];
    const place = join(directory, `attempt-${attempt}`);
    await mkdir(place);
    for (const name of parts) {
      const part = { checkouts, packed, wants, directory: place, upstreamPort: bench.upstream.port };
      for await (const row of PARTS[name]?.(part) ?? []) {
        if (!wants(row.name)) continue;
        say(tableLine(row));
        if (isMarked(ratioOf(row.pairs))) marked.push({ part: name, row: row.name });
      }
    }
    return marked;
  };
  const only = flag('rows') ?? '';
  const suspects = await measure(names, (name) => name.includes(only));
  if (suspects.length > 0) say('\nThe marked rows once more, with new processes:');
  const repeated = names.filter((name) => suspects.some(({ part }) => part === name));
  const confirmed = await measure(repeated, (name) => suspects.some(({ row }) => row === name));
  say(confirmed.length === 0 ? '\nNo row costs more.' : `\n${confirmed.length} rows cost more.`);
  if (confirmed.length > 0) process.exitCode = 1;
}

interface Marked {
  readonly part: string;
  readonly row: string;
}

async function* requests({ checkouts, wants, directory, upstreamPort }: Bench): AsyncGenerator<Row> {
  await using stack = new AsyncDisposableStack();
  const provider = await createIdentityProvider();
  stack.defer(() => provider.stop());
  const pairs: WorldPair[] = [];
  for (let at = 0; at < PAIRS; at += 1) {
    const open = (name: 'before' | 'after') =>
      openWorld(join(directory, `${name}-${at}`), checkouts[name], { upstreamPort, provider, stack });
    // The one that started first must not always be the same side.
    const first = at % 2 === 0 ? 'before' : 'after';
    const [one, two] = [await open(first), await open(first === 'before' ? 'after' : 'before')];
    pairs.push(first === 'before' ? { before: one, after: two } : { before: two, after: one });
  }
  yield* requestRows(pairs, directory, wants);
  if (wants(AFTER_IDLING)) yield await afterIdlingRow(pairs, directory);
}

async function* identity({ directory, upstreamPort, wants }: Bench): AsyncGenerator<Row> {
  const names = { h1: 'HTTP/1.1 with an identity host', h2: 'HTTP/2 with an identity host' } as const;
  if (!Object.values(names).some(wants)) return;
  const on = { POSTERN_IDENTITY_HOST: 'id.localhost' };
  const settings = { what: 'identity', off: {}, on };
  for (const [protocol, pairs] of await comparedSettings(directory, upstreamPort, settings))
    yield { name: names[protocol], unit: 'µs', pairs };
}
