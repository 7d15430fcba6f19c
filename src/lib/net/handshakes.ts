import type { Socket } from 'node:net';
import { closing, listenOnce } from '../guarded-listeners.ts';
import { peerOf } from './proxy-protocol/arriving-clients.ts';

/**
 * Connections with a TLS handshake in progress. When there are too many, the oldest is dropped: strangers must not
 * crowd others out.
 */
export class Handshakes {
  readonly #max: number;
  /** Keyed by remote address and port: a TLS socket does not reveal its underlying socket. */
  readonly #sockets = new Map<string, { readonly socket: Socket; readonly address: string }>();

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#sockets.size;
  }

  /** `address`: the client's, if a proxy connected for it. */
  began(socket: Socket, address: string = peerOf(socket).address): void {
    const name = nameOf(socket);
    this.#sockets.set(name, { socket, address });
    listenOnce(socket, 'close', closing(socket, 'tunnel listener'), () => {
      if (this.#sockets.get(name)?.socket === socket) this.#sockets.delete(name);
    });
    if (this.#sockets.size <= this.#max) return;
    for (const [oldest, silent] of this.#sockets) {
      this.#sockets.delete(oldest);
      silent.socket.destroy();
      return;
    }
  }

  /** Returns the client's address; null: the connection was dropped. */
  ended(socket: Socket): string | null {
    const name = nameOf(socket);
    const address = this.#sockets.get(name)?.address ?? null;
    this.#sockets.delete(name);
    return address;
  }
}

function nameOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
