import type { Socket } from 'node:net';
import { closing, listenOnce } from '../guarded-listeners.ts';
import { peerOf } from './proxy-protocol/arriving-clients.ts';
import { WaitingStrangers } from './shared-places.ts';

/** Connections with a TLS handshake in progress. When there are too many, one is dropped. */
export class Handshakes {
  readonly #waiting: WaitingStrangers<string>;
  /** Keyed by remote address and port: a TLS socket does not reveal its underlying socket. */
  readonly #sockets = new Map<string, { readonly socket: Socket; readonly address: string }>();

  constructor(max: number) {
    this.#waiting = new WaitingStrangers(max);
  }

  get size(): number {
    return this.#sockets.size;
  }

  /** `address`: the client's, if a proxy connected for it. */
  began(socket: Socket, address: string = peerOf(socket).address): void {
    const name = nameOf(socket);
    // An earlier connection may have ended without being seen.
    this.#forget(name);
    const dropped = this.#waiting.add(name, address);
    if (dropped !== null) {
      this.#sockets.get(dropped)?.socket.destroy();
      this.#sockets.delete(dropped);
    }
    this.#sockets.set(name, { socket, address });
    listenOnce(socket, 'close', closing(socket, 'tunnel listener'), () => {
      if (this.#sockets.get(name)?.socket === socket) this.#forget(name);
    });
  }

  /** Returns the client's address; null: the connection was dropped. */
  ended(socket: Socket): string | null {
    const name = nameOf(socket);
    const address = this.#sockets.get(name)?.address ?? null;
    this.#forget(name);
    return address;
  }

  #forget(name: string): void {
    this.#sockets.delete(name);
    this.#waiting.delete(name);
  }
}

function nameOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
