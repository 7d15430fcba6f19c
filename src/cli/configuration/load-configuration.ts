import type { FileProblem } from '../../configuration-file/file-problem.ts';
import type { NotGiven } from '../../configuration-file/plan/keep-secrets.ts';
import {
  type Configuration,
  type ConfigurationText,
  readConfiguration,
} from '../../configuration-file/read-configuration.ts';
import type { PlacedSecret } from '../../configuration-file/wire-body.ts';
import { withParts } from '../../lib/async/missing-part.ts';
import type { CommandContext } from '../command.ts';
import { printProblems } from './print-problems.ts';
import { readFiles } from './read-files.ts';
import { resolveSecrets } from './resolve-secrets.ts';

export interface LoadedConfiguration {
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
