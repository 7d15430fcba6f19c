import type { Config } from '../../config/schema.ts';
import { formatListenAddress } from '../../lib/net/listen-address.ts';
import { dialled } from './dial.ts';

/** Where this machine reaches the API, whatever its public address is. */
export function listenerUrl({ api_tls_cert: certificate, api_listen: listen }: Config): string {
  return `${certificate === null ? 'http' : 'https'}://${formatListenAddress(dialled(listen))}`;
}
