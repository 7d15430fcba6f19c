import { existsSync } from 'node:fs';
import type { LoadedConfig } from '../../config/load.ts';
import { isOnThisMachine } from '../api/connection.ts';
import { listenerUrl } from './listener-url.ts';

/**
 * Null: with port 0 only the server knows. A server that clients reach by another address is dialled directly where its
 * data directory is: from there, its machine can be inspected.
 */
export function apiUrlOf({ config, sources }: LoadedConfig): string | null {
  const { api_url: url, api_listen: listen } = config;
  const isServersOwn =
    url !== null && !sources.api_url.startsWith('flag') && !isOnThisMachine(url) && existsSync(config.data_dir);
  if (listen.port === 0 || (url !== null && !isServersOwn)) return url;
  return listenerUrl(config);
}
