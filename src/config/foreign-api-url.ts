import { isLoopbackHost } from '../lib/net/listen-address.ts';
import type { LoadedConfig } from './load.ts';
import { variableOf } from './schema.ts';

/**
 * `POSTERN_API_URL` may be left over from a shell that uses another server on this machine: it would prefix every uri.
 */
export function foreignApiUrl({ config, sources }: LoadedConfig): readonly string[] {
  const { api_url: apiUrl, api_listen: listen } = config;
  if (apiUrl === null || listen.port === 0 || sources.api_url !== `variable ${variableOf('api_url')}`) return [];
  const { hostname, port } = new URL(apiUrl);
  if (!isLoopbackHost(hostname) || port === String(listen.port)) return [];
  return [
    `POSTERN_API_URL is ${apiUrl}, but the API listens on port ${listen.port}: every uri in a response starts with it. If it is meant for commands, unset it and set POSTERN_CLI_API_URL`,
  ];
}
