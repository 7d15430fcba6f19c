import type { PreparedModule } from '../modules/contract/prepared-module.ts';
import type { ModuleWith, NamedModule } from './edge-snapshot.ts';

/** Selects the modules that have a hook: nothing stands in for a missing one. */
export function hasHook<Hook extends keyof PreparedModule>(
  hook: Hook,
): (module: NamedModule) => module is ModuleWith<Hook> {
  return (module): module is ModuleWith<Hook> => module.prepared[hook] !== undefined;
}
