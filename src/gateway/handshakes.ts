import type { Socket } from 'node:net';
import { closing, listenOnce } from '../lib/guarded-listeners.ts';

/**
 * Connections with a TLS handshake in progress. When there are too many, the oldest is dropped: strangers must not
 * crowd others out.
 */
export class Handshakes {
  readonly #max: number;
  /** Keyed by remote address and port: a TLS socket does not reveal its underlying socket. */
  readonly #sockets = new Map<string, Socket>();

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#sockets.size;
  }

  began(socket: Socket): void {
    const name = nameOf(socket);
    this.#sockets.set(name, socket);
    listenOnce(socket, 'close', closing(socket, 'tunnel listener'), () => {
      if (this.#sockets.get(name) === socket) this.#sockets.delete(name);
    });
    if (this.#sockets.size <= this.#max) return;
    for (const [oldest, silent] of this.#sockets) {
      this.#sockets.delete(oldest);
      silent.destroy();
      return;
    }
  }

  ended(socket: Socket): void {
    this.#sockets.delete(nameOf(socket));
  }
}

function nameOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
