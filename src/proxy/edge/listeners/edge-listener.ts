import { createServer, type Server, type Socket } from 'node:net';
import {
  closing,
  ignoreErrors,
  type ListenerOwner,
  listen,
  listenOnce,
  listenPer,
  reporting,
} from '../../../kit/guarded-listeners.ts';
import { type ArrivedClient, type ArrivingClients, peerOf } from '../../../kit/net/arriving-clients.ts';
import type { ListenAddress, ListenAddresses } from '../../../kit/net/listen-address.ts';
import { noticeVanished } from '../../../kit/net/sockets.ts';
import type { SharedTally } from '../../../kit/process/shared-memory.ts';
import { AddressCounter } from '../admission.ts';

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

interface AcceptedSocketsOptions {
  /** Absent: every client connects directly. */
  readonly clients?: ArrivingClients | undefined;
  readonly onSocket: (socket: Socket, client: ArrivedClient) => void;
}

/** The open connections of a listener, whichever thread has accepted them. */
export class AcceptedSockets {
  readonly #options: AcceptedSocketsOptions;
  readonly #sockets = new Set<Socket>();

  constructor(options: AcceptedSocketsOptions) {
    this.#options = options;
  }

  get count(): number {
    return this.#sockets.size;
  }

  accept(socket: Socket): void {
    const { clients, onSocket } = this.#options;
    this.#sockets.add(socket);
    noticeVanished(socket);
    listenOnce(socket, 'close', reporting('edge listener'), () => this.#sockets.delete(socket));
    if (clients === undefined) onSocket(socket, peerOf(socket));
    else clients.admit(socket, (client) => onSocket(socket, client));
  }

  /** Connections that were just accepted may still send a proxy's header for `lingerMs`. */
  stop(lingerMs = 0): void {
    const { clients } = this.#options;
    if (lingerMs === 0) clients?.close();
    else setTimeout(() => clients?.close(), lingerMs).unref();
  }

  /** Closes what is still open. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}

/** TLS counts handshakes; here connections are counted. */
export function plainConnections(
  maxPerAddress: number,
  onSocket: EdgeListenerOptions['onSocket'],
  threads: SharedTally | null = null,
  free?: () => number,
): EdgeListenerOptions['onSocket'] {
  const addresses = new AddressCounter({ maxTotal: 0, maxPerAddress }, threads, free);
  return (socket: Socket, client: ArrivedClient) => {
    // A reset can occur at any time from here on.
    ignoreErrors(socket);
    const { address } = client;
    if (address === '' || addresses.enter(address) !== null) {
      socket.destroy();
      return;
    }
    listenOnce(socket, 'close', closing(socket, 'plain listener'), () => addresses.leave(address));
    onSocket(socket, client);
  };
}
