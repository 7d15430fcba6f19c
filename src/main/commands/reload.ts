import { isDeepStrictEqual } from 'node:util';
import { type ConfigInput, type LoadedConfig, loadConfig } from '../../config/load.ts';
import type { ServiceManager } from '../../lib/process/service-manager.ts';
import type { RunningServer } from '../running-server.ts';

const NS_PER_US = 1000n;

export interface ReloadOptions extends Pick<ConfigInput, 'flags' | 'env'> {
  /** Null until the server runs. */
  readonly server: RunningServer | null;
  readonly manager: ServiceManager;
  /** The settings that the server runs with. */
  readonly loaded: LoadedConfig;
}

/**
 * SIGHUP: applies the sites again, uses certificate files that changed, and compares the configuration file with the
 * settings in use. Settings apply at a restart only, so those that changed are named. A file with a mistake changes
 * nothing.
 */
export async function reload({ server, manager, flags, env, loaded }: ReloadOptions): Promise<void> {
  // A server that is still starting reads everything anyway.
  if (server === null) return;
  const { logger } = server.log;
  void manager.notify('RELOADING=1', `MONOTONIC_USEC=${process.hrtime.bigint() / NS_PER_US}`);
  try {
    const { values } = loadConfig({ flags, env });
    await server.refreshCertificates();
    const changed = Object.keys(values).filter((name) => !isDeepStrictEqual(values[name], loaded.values[name]));
    if (changed.length === 0) logger.info('reloaded the certificate files; no setting changed');
    else
      logger.warn(
        { settings: changed },
        'reloaded the certificate files; restart the server to apply changed settings',
      );
  } catch (err) {
    logger.error({ err }, 'failed to reload: the server continues as it was');
  }
  await server.applySites();
  void manager.notify('READY=1');
}
