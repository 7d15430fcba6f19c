import { createServer, type Server, type Socket } from 'node:net';
import type { EdgeListener, EdgeListenerOptions } from '../../edge/listeners/edge-listener.ts';
import {
  closing,
  ignoreErrors,
  type ListenerOwner,
  listen,
  listenPer,
  reporting,
} from '../../lib/guarded-listeners.ts';
import type { ListenAddress, ListenAddresses } from '../../lib/net/listen-address.ts';

export interface HandingListenerOptions extends Pick<EdgeListenerOptions, 'open' | 'onProblem'> {
  readonly onSocket: (socket: Socket) => void;
}

/** Accepts connections for other threads. Nothing is read from them: a socket that was read from stays in its thread. */
export async function openHandingListener({
  open,
  onSocket,
  onProblem,
}: HandingListenerOptions): Promise<Pick<EdgeListener, 'addresses'> & { close(): Promise<void> }> {
  const servers: Server[] = [];
  const addresses: ListenAddress[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  };
  try {
    for (const openServer of open) {
      const server = createServer({ noDelay: true, pauseOnConnect: true });
      const ownerOf = (socket: Socket): ListenerOwner => closing(socket, 'edge listener');
      listenPer(server, 'connection', ownerOf, (socket: Socket) => onSocket(ignoreErrors(socket)));
      addresses.push(await openServer(server));
      servers.push(server);
      listen(server, 'error', reporting('edge listener'), (error: Error) => onProblem(error));
    }
  } catch (error) {
    await close();
    throw error;
  }
  return { addresses: addresses as readonly ListenAddress[] as ListenAddresses, close };
}
