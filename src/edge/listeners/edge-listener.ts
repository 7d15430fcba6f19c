import { createServer, type Server, type Socket } from 'node:net';
import { closing, type ListenerOwner, listen, listenOnce, listenPer, reporting } from '../../lib/guarded-listeners.ts';
import type { ListenAddress } from '../../lib/listen-address.ts';

/** Opens a server at the configured address, and returns the actual port. */
export type OpenServer = (server: Server) => Promise<ListenAddress>;

export interface EdgeListenerOptions {
  readonly open: OpenServer;
  readonly onSocket: (socket: Socket) => void;
  /** A connection could not be accepted, mostly for lack of file descriptors. The listener continues. */
  readonly onProblem: (error: Error) => void;
}

export interface EdgeListener {
  readonly address: ListenAddress;
  readonly connectionCount: number;
  /**
   * Stops accepting immediately; resolves when the last connection is closed. Remaining ones are closed by force after
   * `timeoutMs`.
   */
  drain(timeoutMs: number): Promise<void>;
}

/** The TCP side of the HTTPS edge. */
export async function openEdgeListener({ open, onSocket, onProblem }: EdgeListenerOptions): Promise<EdgeListener> {
  const sockets = new Set<Socket>();
  // Complete responses are written at once: waiting to fill a packet only costs time.
  const server = createServer({ noDelay: true, keepAlive: true });
  const ownerOf = (socket: Socket): ListenerOwner => closing(socket, 'edge listener');
  listenPer(server, 'connection', ownerOf, (socket: Socket) => {
    sockets.add(socket);
    listenOnce(socket, 'close', reporting('edge listener'), () => sockets.delete(socket));
    onSocket(socket);
  });
  const address = await open(server);
  // Only now: before it is open, an error is reported by `open`.
  listen(server, 'error', reporting('edge listener'), (error: Error) => onProblem(error));
  let drained: Promise<void> | null = null;
  return {
    address,
    get connectionCount() {
      return sockets.size;
    },
    drain: (timeoutMs) => {
      drained ??= new Promise((resolve) => {
        const timer = setTimeout(() => {
          for (const socket of sockets) socket.destroy();
        }, timeoutMs);
        server.close(() => {
          clearTimeout(timer);
          resolve();
        });
      });
      return drained;
    },
  };
}
