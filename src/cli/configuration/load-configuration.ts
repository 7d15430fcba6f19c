import { type Configuration, readConfiguration } from '../../configuration-file/read-configuration.ts';
import type { PlacedSecret } from '../../configuration-file/wire-body.ts';
import type { CommandContext } from '../command.ts';
import { printProblems } from './print-problems.ts';
import { readFiles } from './read-files.ts';
import { resolveSecrets } from './resolve-secrets.ts';

export interface LoadedConfiguration {
  readonly configuration: Configuration;
  readonly secrets: ReadonlyMap<PlacedSecret, string>;
}

/** Reads and checks files and their secrets; null after their problems were printed. */
export async function loadConfiguration(
  paths: readonly string[],
  context: CommandContext,
): Promise<LoadedConfiguration | null> {
  const configuration = readConfiguration(await readFiles(paths));
  const { values, problems } = await resolveSecrets(configuration.objects, context.env);
  const all = [...configuration.problems, ...problems];
  if (all.length === 0) return { configuration, secrets: values };
  printProblems(all, context);
  return null;
}
