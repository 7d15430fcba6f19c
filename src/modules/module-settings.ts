import type { DeclaredSettings } from '../lib/settings/setting.ts';

/** The values of modules' own settings, by the module's name. */
export type ModuleSettings = ReadonlyMap<string, Readonly<Record<string, unknown>>>;

interface Owner {
  readonly name: string;
  readonly settings?: DeclaredSettings;
}

/** A module's own settings, typed by its declared rows. Its defaults, where nothing was configured. */
export function settingsOf(settings: ModuleSettings, module: Owner): never {
  return (settings.get(module.name) ?? defaultsOf(module.settings ?? {})) as never;
}

function defaultsOf(rows: DeclaredSettings): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(rows).map(([name, row]) => [name, row.kind.decode(row.default)]));
}
