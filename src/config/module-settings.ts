import type { SettingRisk } from '../lib/settings/setting.ts';
import { type ModuleSettings, settingsOf } from '../modules/module-settings.ts';
import { modules } from '../modules/registry.ts';

/** Each module's own settings, selected from all values. */
export function moduleSettings(values: Readonly<Record<string, unknown>>): ModuleSettings {
  return new Map(
    modules.flatMap(({ name, settings }) => {
      if (settings === undefined) return [];
      return [[name, Object.fromEntries(Object.keys(settings).map((setting) => [setting, values[setting]]))]];
    }),
  );
}

/** Values that the modules' own rows consider risky. */
export function moduleRisks(settings: ModuleSettings): readonly SettingRisk[] {
  return modules.flatMap((module) => {
    const values: Readonly<Record<string, unknown>> = settingsOf(settings, module);
    return Object.entries(module.settings ?? {}).flatMap(([name, row]) => row.risk?.(values[name]) ?? []);
  });
}
