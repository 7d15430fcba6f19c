import type { Flag } from '../lib/flags.ts';
import { isJsonObject } from '../lib/json.ts';
import { loadConfig } from './load.ts';
import { flagOf, settingNames, settingOf } from './schema.ts';
import { FIRST_SETTINGS, settingsInGroups } from './setting-groups.ts';

/** A longer default, such as the list of dropped headers, would hide the description. */
const MAX_DEFAULT_LENGTH = 60;
let standards: Readonly<Record<string, unknown>> | undefined;

const CONFIG: Flag = {
  name: 'config',
  kind: 'text',
  hint: 'FILE',
  isFile: true,
  description: 'YAML file with settings.',
  default: 'POSTERN_CONFIG',
};

/** The flags that `loadConfig` understands. */
export const settingFlags: readonly Flag[] = [CONFIG, ...settingNames.map(flagOfSetting)];

export interface SettingGroup {
  readonly title: string;
  readonly flags: readonly Flag[];
  readonly isBrief?: boolean;
}

/** The same for `postern server --help`: the ones that matter first, then the others in the groups of the reference page. */
export function groupedSettingFlags(): readonly SettingGroup[] {
  const rest = settingNames.filter((name) => !FIRST_SETTINGS.includes(name));
  return [
    { title: 'Settings that matter first', flags: flagsOf([CONFIG.name, ...FIRST_SETTINGS]) },
    ...settingsInGroups(rest).map(([title, names]) => ({ title, flags: flagsOf(names), isBrief: true })),
  ];
}

function flagsOf(settings: readonly string[]): readonly Flag[] {
  return settings.flatMap((setting) => settingFlags.find(({ name }) => name === flagOf(setting)) ?? []);
}

function flagOfSetting(name: string): Flag {
  const { description, usedFrom, kind } = settingOf(name);
  const { type } = kind.schema as { type?: string };
  const flag = flagOf(name);
  return {
    name: flag,
    kind: type === 'boolean' ? 'switch' : 'text',
    hint: kind.hint,
    description: usedFrom === null ? description : `${description} Used from ${usedFrom}.`,
    isFile: /-(file|dir|cert|key-file)$/.test(flag),
    // Read when the help is written: a start does not need it.
    get default() {
      standards ??= loadConfig({ flags: new Map(), env: {} }).values;
      return defaultOf(name, standards[name]);
    },
  };
}

/** An unset setting has none: its description says what happens then. */
function defaultOf(name: string, value: unknown): string | undefined {
  if (value === null) return undefined;
  const wire = settingOf(name).kind.encode(value);
  const text = Array.isArray(wire) ? wire.join(',') : isJsonObject(wire) ? JSON.stringify(wire) : String(wire);
  if (text.length > MAX_DEFAULT_LENGTH) return 'see --print-config';
  return text === '' ? 'empty' : text;
}
