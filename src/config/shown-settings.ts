import type { WireValue } from '../lib/settings/setting.ts';
import type { LoadedConfig } from './load.ts';
import { shownValue } from './print.ts';
import { settingNames, settingOf } from './schema.ts';

export interface ShownSetting {
  readonly name: string;
  readonly value: WireValue | null;
  readonly source: string;
  readonly secret: boolean;
  readonly description: string;
}

/** The effective settings with their origins, and no secret or part of one. */
export function shownSettings({ values, sources }: Pick<LoadedConfig, 'values' | 'sources'>): readonly ShownSetting[] {
  return settingNames.map((name) => {
    const { secrecy, description } = settingOf(name);
    return {
      name,
      value: shownValue(name, values[name] ?? null),
      source: sources[name] ?? 'default',
      secret: secrecy !== 'public',
      description,
    };
  });
}
