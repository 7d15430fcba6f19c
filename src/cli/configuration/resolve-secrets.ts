import { readFile, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { FileConfig, FileObject } from '../../configuration-file/file-object.ts';
import type { FileProblem } from '../../configuration-file/file-problem.ts';
import type { NotGiven } from '../../configuration-file/plan/keep-secrets.ts';
import { type PlacedSecret, placedSecrets } from '../../configuration-file/wire-body.ts';
import { failureCode } from '../../lib/error-text.ts';
import type { CommandContext } from '../command.ts';

const MAX_SECRET_BYTES = 1024 * 1024;

export interface ResolvedSecrets {
  readonly values: ReadonlyMap<PlacedSecret, string>;
  /** Their variable or file does not exist: an object that the server has keeps its secret. */
  readonly notGiven: NotGiven;
  readonly problems: readonly FileProblem[];
}

/** Reads the secrets that the files refer to. Messages name the reference, never the value. */
export async function resolveSecrets(
  objects: readonly FileObject[],
  env: CommandContext['env'],
): Promise<ResolvedSecrets> {
  const values = new Map<PlacedSecret, string>();
  const notGiven = new Map<PlacedSecret, FileProblem>();
  const problems: FileProblem[] = [];
  for (const object of objects) {
    for (const secret of secretsOf(object)) {
      const read = secret.from === 'env' ? fromEnvironment(secret.name, env) : await fromFile(secret.name, object.file);
      if ('value' in read) {
        values.set(secret, read.value);
        continue;
      }
      const problem = { file: object.file, line: secret.line, problem: read.problem };
      if (read.isAbsent === true) notGiven.set(secret, problem);
      else problems.push(problem);
    }
  }
  return { values, notGiven, problems };
}

type Read = { readonly value: string } | { readonly problem: string; readonly isAbsent?: boolean };

function fromEnvironment(name: string, env: CommandContext['env']): Read {
  const value = env[name];
  if (value === undefined) return { problem: `the environment variable ${name} is not set`, isAbsent: true };
  return value === ''
    ? { problem: `the environment variable ${name} is empty: write "" in the file to remove the secret` }
    : { value };
}

/** The path is relative to the file that names it. */
async function fromFile(name: string, file: string): Promise<Read> {
  const path = resolve(file === '-' ? '.' : dirname(file), name);
  try {
    const found = await stat(path);
    if (!found.isFile()) return { problem: `${path} is not a regular file` };
    if (found.size > MAX_SECRET_BYTES) return { problem: `${path} is larger than ${MAX_SECRET_BYTES} bytes` };
    // Editors append a line end; a secret has none.
    const value = (await readFile(path, 'utf8')).replace(/\r?\n$/, '');
    return value === '' ? { problem: `${path} is empty: write "" in the file to remove the secret` } : { value };
  } catch (cause) {
    const reason = failureCode(cause);
    return { problem: `cannot read ${path} (${reason})`, isAbsent: reason === 'ENOENT' };
  }
}

function* secretsOf(object: FileObject): Iterable<PlacedSecret> {
  yield* placedIn(object);
  for (const module of object.modules.values()) yield* placedIn(module);
  for (const child of object.children) yield* secretsOf(child);
}

function* placedIn({ secrets }: FileConfig): Iterable<PlacedSecret> {
  for (const secret of secrets.values()) yield* placedSecrets(secret);
}
