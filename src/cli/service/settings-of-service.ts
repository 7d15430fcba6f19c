import { type LoadedConfig, loadConfig } from '../../config/load.ts';
import type { InstalledServer } from './installed-server.ts';

/** As the service itself reads them. */
export function settingsOfService({ env }: InstalledServer): LoadedConfig {
  return loadConfig({ flags: new Map(), env });
}
