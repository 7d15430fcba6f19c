import { settingFlags } from '../config/setting-flags.ts';
import type { FlagGroup } from './command-syntax.ts';

/** Flags of a command that reads the settings of the server; `purpose` says what for. */
export function settingsGroup(purpose: string): FlagGroup {
  return {
    title: 'Settings',
    flags: settingFlags,
    summary: `The command takes the settings of "postern server" (--data-dir, --config and so on; postern server --help lists them) ${purpose}. Without --config, --data-dir or a directory postern-data here, it uses those of the installed service, and says so.`,
  };
}
