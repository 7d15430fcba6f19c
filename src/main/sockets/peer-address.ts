import { connect } from 'node:net';
import { closing, ignoreErrors, listenOnce } from '../../lib/guarded-listeners.ts';
import { databaseServers } from '../../lib/net/database-url.ts';
import { formatListenAddress, isWildcardHost, type ListenAddress } from '../../lib/net/listen-address.ts';

const POSTGRES_PORT = 5432;
const REACH_TIMEOUT_MS = 2_000;

/** What other nodes dial: the listener's address, or, for all addresses, the one that reaches the database. */
export async function peerAddressOf(listener: ListenAddress, databaseUrl: string): Promise<string> {
  if (!isWildcardHost(listener.host)) return formatListenAddress(listener);
  // A server of the database may be down; all are reached from the same network.
  for (const url of databaseServers(databaseUrl)?.urls ?? []) {
    const host = await localAddressTo(url);
    if (host !== null) return formatListenAddress({ host, port: listener.port });
  }
  return formatListenAddress({ host: '127.0.0.1', port: listener.port });
}

/** Null: the database is reached in another way, such as a socket in the file system. */
function localAddressTo(databaseUrl: string): Promise<string | null> {
  const { hostname, port } = new URL(databaseUrl);
  if (hostname === '') return Promise.resolve(null);
  const { promise, resolve } = Promise.withResolvers<string | null>();
  const socket = connect({
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: port === '' ? POSTGRES_PORT : Number(port),
    timeout: REACH_TIMEOUT_MS,
  });
  ignoreErrors(socket);
  const end = (address: string | null): void => {
    resolve(address);
    socket.destroy();
  };
  const owner = closing(socket, 'search for the local address');
  listenOnce(socket, 'connect', owner, () => end(socket.localAddress ?? null));
  listenOnce(socket, 'timeout', owner, () => end(null));
  listenOnce(socket, 'close', owner, () => end(null));
  return promise;
}
