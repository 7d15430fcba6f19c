import { createServer, type Server, type Socket } from 'node:net';
import { closing, type ListenerOwner, listen, listenOnce, listenPer, reporting } from '../../lib/guarded-listeners.ts';
import type { ListenAddress, ListenAddresses } from '../../lib/net/listen-address.ts';
import { type ArrivedClient, type ArrivingClients, peerOf } from '../../lib/net/proxy-protocol/arriving-clients.ts';

/** Opens a server at the configured address, and returns the actual port. */
export type OpenServer = (server: Server) => Promise<ListenAddress>;

export interface EdgeListenerOptions {
  /** One per address. */
  readonly open: readonly OpenServer[];
  /** Absent: every client connects directly. */
  readonly clients?: ArrivingClients;
  readonly onSocket: (socket: Socket, client: ArrivedClient) => void;
  /** A connection could not be accepted, mostly for lack of file descriptors. The listener continues. */
  readonly onProblem: (error: Error) => void;
}

export interface EdgeListener {
  readonly addresses: ListenAddresses;
  readonly connectionCount: number;
  /**
   * Stops accepting immediately; resolves when the last connection is closed. Remaining ones are closed by force after
   * `timeoutMs`. Connections that were just accepted may still send a proxy's header for `lingerMs`.
   */
  drain(timeoutMs: number, lingerMs?: number): Promise<void>;
}

/** The TCP side of the HTTPS edge, on all of its addresses or on none. */
export async function openEdgeListener({
  open,
  clients,
  onSocket,
  onProblem,
}: EdgeListenerOptions): Promise<EdgeListener> {
  const sockets = new Set<Socket>();
  const servers: Server[] = [];
  const addresses: ListenAddress[] = [];
  const closeAll = (): Promise<unknown> =>
    Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  const accept = (socket: Socket): void => {
    sockets.add(socket);
    listenOnce(socket, 'close', reporting('edge listener'), () => sockets.delete(socket));
    if (clients === undefined) onSocket(socket, peerOf(socket));
    else clients.admit(socket, (client) => onSocket(socket, client));
  };
  try {
    for (const openServer of open) {
      // Complete responses are written at once: waiting to fill a packet only costs time.
      const server = createServer({ noDelay: true, keepAlive: true });
      listenPer(server, 'connection', (socket: Socket): ListenerOwner => closing(socket, 'edge listener'), accept);
      addresses.push(await openServer(server));
      servers.push(server);
      // Only now: before it is open, an error is reported by `open`.
      listen(server, 'error', reporting('edge listener'), (error: Error) => onProblem(error));
    }
  } catch (error) {
    const closed = closeAll();
    for (const socket of sockets) socket.destroy();
    await closed;
    throw error;
  }
  let drained: Promise<void> | null = null;
  return {
    addresses: addresses as readonly ListenAddress[] as ListenAddresses,
    get connectionCount() {
      return sockets.size;
    },
    drain: (timeoutMs, lingerMs = 0) => {
      if (lingerMs === 0) clients?.close();
      else setTimeout(() => clients?.close(), lingerMs).unref();
      drained ??= (async () => {
        const timer = setTimeout(() => {
          for (const socket of sockets) socket.destroy();
        }, timeoutMs);
        await closeAll();
        clearTimeout(timer);
      })();
      return drained;
    },
  };
}
