import { connect, createServer, type Server, type Socket } from 'node:net';
import { closing, ignoreErrors, listenOnce, listenPer, reporting } from '../../../kit/guarded-listeners.ts';
import { databaseServers } from '../../../kit/net/database-url.ts';
import { formatListenAddress, isWildcardHost, type ListenAddress } from '../../../kit/net/listen-address.ts';
import { listenOn } from './listener.ts';
import type { ListeningSockets } from './listening-sockets.ts';

export interface PeerSocket {
  readonly address: ListenAddress;
  /** Accepts at the configured address too, once the process before this one is gone. Null: it already does. */
  readonly takeOver: (() => Promise<ListenAddress>) | null;
}

/**
 * Where other nodes reach this one. While a process before this one runs, both are nodes: they must not share a socket,
 * because each would get connections for the other.
 */
export async function openPeerSocket(
  listener: Server,
  wanted: ListenAddress,
  sockets: ListeningSockets,
  hasPredecessor: boolean,
): Promise<PeerSocket> {
  if (!hasPredecessor) return { address: await sockets.open(listener, 'peer_listen', wanted), takeOver: null };
  const address = await listenOn(listener, 'peer_listen', { ...wanted, port: 0 });
  return {
    address,
    takeOver: async () => {
      const further = createServer();
      listenPer(
        further,
        'connection',
        (socket: Socket) => closing(socket, 'peer listener'),
        (socket: Socket) => listener.emit('connection', socket),
      );
      listenOnce(listener, 'close', reporting('peer listener'), () => further.close());
      const configured = await sockets.open(further, 'peer_listen', wanted);
      await sockets.start('peer');
      return configured;
    },
  };
}

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
