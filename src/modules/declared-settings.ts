import type { SettingRisk, SettingRows } from '../kit/settings/setting.ts';
import { type ModuleSettings, settingsOf } from './module-settings.ts';
import { modules } from './registry.ts';
import { sharedRuntimes } from './reserved-names.ts';

/** Everything that declares settings of its own. */
const owners = modules.flatMap((module, at) => {
  const earlier = sharedRuntimes(modules.slice(0, at));
  return [...sharedRuntimes([module]).filter((shared) => !earlier.includes(shared)), { ...module, shared: [] }];
});

/** Rows of the settings that modules declare, in the order of the modules. */
export const moduleSettingRows: SettingRows = Object.fromEntries(
  owners.flatMap((owner) => Object.entries(owner.settings ?? {})),
);

/** Each module's own settings, and each shared runtime's, selected from all values. */
export function moduleSettings(values: Readonly<Record<string, unknown>>): ModuleSettings {
  return new Map(
    owners.flatMap((owner) => {
      const { name, settings } = owner;
      if (settings === undefined) return [];
      const read = [...Object.keys(settings), ...('readsSettings' in owner ? (owner.readsSettings ?? []) : [])];
      return [[name, Object.fromEntries(read.map((setting) => [setting, values[setting]]))]];
    }),
  );
}

/** Values that the modules' own rows consider risky. */
export function moduleRisks(settings: ModuleSettings): readonly SettingRisk[] {
  return owners.flatMap((owner) => {
    const values: Readonly<Record<string, unknown>> = settingsOf(settings, owner);
    return Object.entries(owner.settings ?? {}).flatMap(([name, row]) => row.risk?.(values[name]) ?? []);
  });
}
