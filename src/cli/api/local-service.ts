import { messageOf } from '../../lib/error-text.ts';
import type { CommandContext } from '../command.ts';
import type { InstalledServer } from '../service/installed-server.ts';
import type { ApiKey } from './api-key.ts';

/** How a command of this machine reaches the installed service. */
export interface LocalService {
  /** Null: it has port 0, which only its log names. */
  readonly url: string | null;
  readonly dataDir: string;
  readonly presetKey: ApiKey | null;
}

/** One command asks several times. Contexts that are made from each other share their environment. */
const found = new WeakMap<CommandContext['env'], Promise<LocalService | null>>();

/** Null: there is none, or this user may not read its settings. The first call says what it found. */
export function localService(context: CommandContext): Promise<LocalService | null> {
  const known = found.get(context.env) ?? find(context);
  found.set(context.env, known);
  return known;
}

async function find(context: CommandContext): Promise<LocalService | null> {
  const installed = (await context.installedServer?.()) ?? null;
  return installed === null ? null : placeOf(installed, context);
}

/** Most commands have no service to ask, and do not load what reads its settings. */
async function placeOf(installed: InstalledServer, context: CommandContext): Promise<LocalService | null> {
  const [{ sayInstalled }, { loadConfig }, { listenerUrl }, { presetKey }] = await Promise.all([
    import('../service/installed-server.ts'),
    import('../../config/load.ts'),
    import('../doctor/listener-url.ts'),
    import('./api-key.ts'),
  ]);
  try {
    const { config } = loadConfig({ flags: new Map(), env: installed.env });
    sayInstalled(installed, context);
    const url = config.api_listen.port === 0 ? null : listenerUrl(config);
    return { url, dataDir: config.data_dir, presetKey: presetKey(config) };
  } catch (error) {
    context.warn(`postern: warning: the settings of the installed service cannot be used: ${messageOf(error)}`);
    return null;
  }
}
