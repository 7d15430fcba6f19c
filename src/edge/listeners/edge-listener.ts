import { createServer, type Server, type Socket } from 'node:net';
import { closing, type ListenerOwner, listen, listenPer, reporting } from '../../lib/guarded-listeners.ts';
import type { ArrivedClient, ArrivingClients } from '../../lib/net/arriving-clients.ts';
import type { ListenAddress, ListenAddresses } from '../../lib/net/listen-address.ts';
import { AcceptedSockets } from './accepted-sockets.ts';

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
  const accepted = new AcceptedSockets({ clients, onSocket });
  const servers: Server[] = [];
  const addresses: ListenAddress[] = [];
  const closeAll = (): Promise<unknown> =>
    Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  try {
    for (const openServer of open) {
      // Complete responses are written at once: waiting to fill a packet only costs time.
      const server = createServer({ noDelay: true });
      listenPer(
        server,
        'connection',
        (socket: Socket): ListenerOwner => closing(socket, 'edge listener'),
        (socket) => accepted.accept(socket),
      );
      addresses.push(await openServer(server));
      servers.push(server);
      // Only now: before it is open, an error is reported by `open`.
      listen(server, 'error', reporting('edge listener'), (error: Error) => onProblem(error));
    }
  } catch (error) {
    const closed = closeAll();
    accepted.cut();
    await closed;
    throw error;
  }
  let drained: Promise<void> | null = null;
  return {
    addresses: addresses as readonly ListenAddress[] as ListenAddresses,
    get connectionCount() {
      return accepted.count;
    },
    drain: (timeoutMs, lingerMs = 0) => {
      accepted.stop(lingerMs);
      drained ??= (async () => {
        const timer = setTimeout(() => accepted.cut(), timeoutMs);
        await closeAll();
        clearTimeout(timer);
      })();
      return drained;
    },
  };
}
