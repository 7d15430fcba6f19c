import { existsSync } from 'node:fs';
import { CONFIG_VARIABLE } from '../config/environment.ts';
import { type LoadedConfig, loadConfig } from '../config/load.ts';
import { flagOf, variableOf } from '../config/schema.ts';
import { DEFAULT_DATA_DIR } from './api/connection.ts';
import type { CommandContext } from './command.ts';
import { sayInstalled } from './service/installed-server.ts';

/** Settings that say which server is meant. */
const PLACES = ['data_dir', 'database_url', 'api_listen', 'api_url'] as const;

/**
 * The settings of the server that a command is about: those that flags and variables name, otherwise those of a server
 * that has its data in this directory, otherwise those of the installed service.
 */
export async function serverSettings(
  flags: ReadonlyMap<string, string>,
  context: CommandContext,
): Promise<LoadedConfig> {
  const { env } = context;
  const installed = isNamed(flags, env) || existsSync(DEFAULT_DATA_DIR) ? null : await context.installedServer?.();
  if (installed === null || installed === undefined) return loadConfig({ flags, env });
  sayInstalled(installed, context);
  return loadConfig({ flags, env: { ...installed.env, ...env } });
}

function isNamed(flags: ReadonlyMap<string, string>, env: CommandContext['env']): boolean {
  return (
    flags.has('config') ||
    Boolean(env[CONFIG_VARIABLE]) ||
    PLACES.some((name) => flags.has(flagOf(name)) || Boolean(env[variableOf(name)]))
  );
}
