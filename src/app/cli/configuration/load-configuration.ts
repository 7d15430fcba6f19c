import { constants } from 'node:fs';
import { open, readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FileConfig, FileObject } from '../../../control/configuration-file/file-object.ts';
import { type FileProblem, MAX_FILE_BYTES, OWNER_PATTERN } from '../../../control/configuration-file/format.ts';
import type { NotGiven } from '../../../control/configuration-file/plan/pair-objects.ts';
import {
  type Configuration,
  type ConfigurationText,
  readConfiguration,
} from '../../../control/configuration-file/read-configuration.ts';
import { type PlacedSecret, placedSecrets } from '../../../control/configuration-file/wire-body.ts';
import { whyUnreadable } from '../../../kit/error-text.ts';
import { type Flag, type ParsedFlags, usage } from '../../../kit/flags.ts';
import { withParts } from '../../../kit/load-part.ts';
import { gatherBounded, readBounded } from '../../../kit/read-bounded.ts';
import { type ReadSecret, readSecret } from '../../../kit/secret-reference.ts';
import { createTextSource } from '../api/text-source.ts';
import type { CommandContext } from '../command.ts';
import { printable } from '../output/cell-text.ts';
import { switchFlag, textFlag } from '../shared-flags.ts';

interface LoadedConfiguration {
  readonly configuration: Configuration;
  readonly secrets: ReadonlyMap<PlacedSecret, string>;
  readonly notGiven: NotGiven;
}

/** Reads and checks files and their secrets; null after their problems were printed. */
export async function loadConfiguration(
  paths: readonly string[],
  context: CommandContext,
): Promise<LoadedConfiguration | null> {
  const loaded = await readChecked(await readFiles(paths), context.env);
  if (!('problems' in loaded)) return loaded;
  printProblems(loaded.problems, context);
  return null;
}

/** Checks the texts of files, and reads their secrets. */
export async function readChecked(
  files: readonly ConfigurationText[],
  env: CommandContext['env'],
): Promise<LoadedConfiguration | { readonly problems: readonly FileProblem[] }> {
  const configuration = await withParts(() => readConfiguration(files));
  const { values, notGiven, problems } = await resolveSecrets(configuration.objects, env);
  const all = [...configuration.problems, ...problems];
  return all.length === 0 ? { configuration, secrets: values, notGiven } : { problems: all };
}

const SUFFIX = /\.ya?ml$/;
const STANDARD_INPUT = '-';

/** The texts of files and of the YAML files in directories; `-` is standard input, and pipes of a shell are read. */
export function readFiles(paths: readonly string[]): Promise<readonly ConfigurationText[]> {
  return textsAt(paths, textOf);
}

/** A file that is not changed for so long was written whole. */
const STILL_MS = 1_000;
const MAX_WAIT_MS = 60_000;

/**
 * Without standard input, pipes and devices, which may have no end: for a server that nobody watches. It waits until
 * nobody writes the files: half of a file may lack the rules that protect a site.
 */
export async function readWrittenFiles(paths: readonly string[]): Promise<readonly ConfigurationText[]> {
  for (let waited = 0; waited <= MAX_WAIT_MS; waited += STILL_MS) {
    const before = await writtenAt(paths);
    const ageMs = Date.now() - before.latestMs;
    // A time in the future says nothing.
    if (ageMs < STILL_MS) await sleep(Math.min(STILL_MS, STILL_MS - ageMs));
    const texts = await textsAt(paths, regularText);
    if ((await writtenAt(paths)).text === before.text) return texts;
  }
  throw usage(`${paths.join(', ')} changes again and again: write the file whole, and rename it into place`);
}

/** What changes with every write to the files. A file that was renamed into place keeps the time of its last write. */
async function writtenAt(paths: readonly string[]): Promise<{ readonly text: string; readonly latestMs: number }> {
  const files: string[] = [];
  for (const path of paths) files.push(...(await filesAt(path)));
  const found = await Promise.all(files.map(statOf));
  const text = JSON.stringify(found.map(({ ino, size, mtimeMs }, at) => [files[at], ino, size, mtimeMs]));
  return { text, latestMs: Math.max(...found.map(({ mtimeMs }) => mtimeMs)) };
}

async function textsAt(
  paths: readonly string[],
  read: (path: string) => Promise<string>,
): Promise<readonly ConfigurationText[]> {
  if (paths.length === 0) throw usage('name at least one file: -f postern-sites.yaml');
  const files: string[] = [];
  for (const path of paths) files.push(...(await filesAt(path)));
  const unique = [...new Set(files)];
  return Promise.all(unique.map(async (name) => ({ name, text: await read(name) })));
}

async function filesAt(path: string): Promise<readonly string[]> {
  if (path === STANDARD_INPUT || !(await statOf(path)).isDirectory()) return [path];
  const names = (await readdir(path)).filter((name) => SUFFIX.test(name) && !name.startsWith('.')).sort();
  if (names.length === 0) throw usage(`the directory ${path} has no file with the suffix .yaml or .yml`);
  return names.map((name) => join(path, name));
}

async function textOf(path: string): Promise<string> {
  if (path === STANDARD_INPUT) return createTextSource().read(path, 'file');
  return decoded(path, await readBounded(path, MAX_FILE_BYTES).catch((cause: unknown) => unreadable(path, cause)));
}

async function regularText(path: string): Promise<string> {
  // Not blocking: otherwise the open of a pipe waits for a writer.
  const flags = constants.O_RDONLY | constants.O_NONBLOCK;
  await using file = await open(path, flags).catch((cause: unknown) => unreadable(path, cause));
  if (!(await file.stat()).isFile()) throw usage(`${path} is not a regular file`);
  const bytes = gatherBounded(file.createReadStream({ autoClose: false }), MAX_FILE_BYTES);
  return decoded(path, await bytes.catch((cause: unknown) => unreadable(path, cause)));
}

function decoded(path: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw usage(`${path} is not a text in UTF-8`);
  }
}

function statOf(path: string) {
  return stat(path).catch((cause: unknown) => unreadable(path, cause));
}

function unreadable(path: string, cause: unknown): never {
  throw usage(`cannot read ${path}: ${whyUnreadable(cause)}`);
}

interface ResolvedSecrets {
  readonly values: ReadonlyMap<PlacedSecret, string>;
  /** Secrets whose variable or file does not exist: an object that the server has keeps its secret. */
  readonly notGiven: NotGiven;
  readonly problems: readonly FileProblem[];
}

/** Reads the secrets that the files refer to. Messages name the reference, never the value. */
async function resolveSecrets(objects: readonly FileObject[], env: CommandContext['env']): Promise<ResolvedSecrets> {
  const values = new Map<PlacedSecret, string>();
  const notGiven = new Map<PlacedSecret, FileProblem>();
  const problems: FileProblem[] = [];
  for (const object of objects) {
    for (const secret of secretsOf(object)) {
      const read = await readPlaced(secret, object.file, env);
      if ('value' in read) {
        values.set(secret, read.value);
        continue;
      }
      const advice = read.state === 'empty' ? ': write "" in the file to remove the secret' : '';
      const problem = { file: object.file, line: secret.line, problem: `${read.problem}${advice}` };
      if (read.state === 'absent') notGiven.set(secret, problem);
      else problems.push(problem);
    }
  }
  return { values, notGiven, problems };
}

/** The path of a file is relative to the file that names it. */
async function readPlaced(secret: PlacedSecret, file: string, env: CommandContext['env']): Promise<ReadSecret> {
  return readSecret(secret, { env, directory: file === '-' ? '.' : dirname(file) });
}

function* secretsOf(object: FileObject): Iterable<PlacedSecret> {
  yield* placedIn(object);
  for (const module of object.modules.values()) yield* placedIn(module);
  for (const child of object.children) yield* secretsOf(child);
}

function* placedIn({ secrets }: FileConfig): Iterable<PlacedSecret> {
  for (const secret of secrets.values()) yield* placedSecrets(secret);
}

const MAX_SHOWN = 100;

/** One line for each problem, as compilers print them. */
export function printProblems(problems: readonly FileProblem[], context: CommandContext): void {
  for (const { file, line, problem } of problems.slice(0, MAX_SHOWN)) {
    context.warn(printable(`${file}:${line}: ${problem}`));
  }
  if (problems.length > MAX_SHOWN) context.warn(`postern: ${problems.length - MAX_SHOWN} more problems are not shown`);
}

export const FILES: Flag = {
  name: 'file',
  aliases: ['f'],
  kind: 'repeated',
  hint: 'FILE',
  isFile: true,
  description: 'File or directory; - reads standard input.',
};

export const PRUNE = switchFlag(
  'prune',
  'Also remove what an earlier apply of the same owner had and the files no longer have.',
);

export const OWNER = textFlag(
  'owner',
  'NAME',
  'Owner of the objects, if the files name none. That of a server with a file of sites is postern-server.',
);

export const TAKE_OVER = switchFlag('take-over', 'Take over objects that the files of another owner have.');

/** The owner that the files name, or the flag does. */
export function withOwner<Loaded extends { readonly configuration: { readonly owner: string | null } }>(
  loaded: Loaded,
  { flags }: ParsedFlags,
): Loaded {
  const given = flags.get(OWNER.name);
  const { owner } = loaded.configuration;
  if (given !== undefined && !new RegExp(OWNER_PATTERN).test(given))
    throw usage('--owner must be a name of up to 64 letters, digits, ".", "_" and "-"');
  if (given !== undefined && owner !== null && owner !== given)
    throw usage(`--owner is ${given}, and the files name the owner ${owner}: use one of them`);
  return { ...loaded, configuration: { ...loaded.configuration, owner: owner ?? given ?? null } };
}

/** The files of a command: after each `-f`, and arguments that follow. */
export function pathsOf({ values, positionals }: ParsedFlags, command: string): readonly string[] {
  const files = values.get(FILES.name) ?? [];
  if (files.length === 0) throw usage(`postern ${command} needs a file: -f postern-sites.yaml`);
  return [...files, ...positionals];
}
