import { dirname } from 'node:path';
import type { FileConfig, FileObject } from '../../configuration-file/file-object.ts';
import type { FileProblem } from '../../configuration-file/file-problem.ts';
import type { NotGiven } from '../../configuration-file/plan/keep-secrets.ts';
import { type PlacedSecret, placedSecrets } from '../../configuration-file/wire-body.ts';
import { type ReadSecret, readSecret } from '../../lib/secret-reference.ts';
import type { CommandContext } from '../command.ts';

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
