import { createServer, type Server, type Socket } from 'node:net';
import { closing, listenOnce, listenPer, reporting } from '../../lib/guarded-listeners.ts';
import type { ListenAddress } from '../../lib/net/listen-address.ts';
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
