import type { Socket } from 'node:net';
import { listenOnce, reporting } from '../../lib/guarded-listeners.ts';
import { type ArrivedClient, type ArrivingClients, peerOf } from '../../lib/net/arriving-clients.ts';
import { noticeVanished } from '../../lib/net/sockets.ts';

export interface AcceptedSocketsOptions {
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
