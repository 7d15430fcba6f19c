import type { DeclaredSettings } from '../kit/settings/setting.ts';

/** The values of modules' own settings, by the name of the module or shared runtime. */
export type ModuleSettings = ReadonlyMap<string, Readonly<Record<string, unknown>>>;

interface Owner {
  readonly name: string;
  readonly settings?: DeclaredSettings;
  readonly shared?: readonly Owner[];
}

/**
 * A module's own settings and those that it shares, typed by the declared rows. Defaults, where nothing was configured.
 */
export function settingsOf(settings: ModuleSettings, module: Owner): never {
  const { name, settings: rows = {}, shared = [] } = module;
  const own = settings.get(name) ?? defaultsOf(rows);
  return (
    shared.length === 0 ? own : Object.assign({}, ...shared.map((each) => settingsOf(settings, each)), own)
  ) as never;
}

function defaultsOf(rows: DeclaredSettings): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(rows).map(([name, row]) => [name, row.kind.decode(row.default)]));
}
