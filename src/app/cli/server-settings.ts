import { existsSync } from 'node:fs';
import { CONFIG_VARIABLE } from '../settings/environment.ts';
import { type LoadedConfig, loadConfig } from '../settings/load.ts';
import { flagOf, variableOf } from '../settings/schema.ts';
import { settingFlags } from '../settings/setting-flags.ts';
import { DEFAULT_DATA_DIR, hasOwnSettingsHere, SETTINGS_HERE } from './api/connection.ts';
import type { CommandContext, FlagGroup } from './command.ts';
import { sayInstalled } from './service/installed-server.ts';

/** Settings that say which server is meant. */
const PLACES = ['data_dir', 'database_url', 'api_listen', 'api_url'] as const;

/**
 * The settings of the server that a command is about: those that flags and variables name, otherwise those of a file
 * that `postern up` wrote here, or of a server that has its data in this directory, otherwise those of the installed
 * service.
 */
export async function serverSettings(
  flags: ReadonlyMap<string, string>,
  context: CommandContext,
): Promise<LoadedConfig> {
  const { env } = context;
  if (!isNamed(flags, env) && (await hasOwnSettingsHere()))
    return loadConfig({ flags: new Map([...flags, ['config', SETTINGS_HERE]]), env });
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

/** Flags of a command that reads the settings of the server; `purpose` says what for. */
export function settingsGroup(purpose: string): FlagGroup {
  return {
    title: 'Settings',
    flags: settingFlags,
    summary: `The command takes the settings of "postern server" (--data-dir, --config and so on; postern server --help lists them) ${purpose}. Without --config, --data-dir, your own postern-server.yaml or a directory postern-data here, it uses those of the installed service, and says so.`,
  };
}
