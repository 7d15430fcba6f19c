import type { Duplex } from 'node:stream';
import { breakOff } from '../lib/break-off.ts';
import { type ListenerOwner, listen } from '../lib/guarded-listeners.ts';
import { splice } from '../lib/splice.ts';
import { WebSocketClose } from './web-socket-close.ts';

/** Counts the bytes of a switched exchange. */
export interface SwitchedCounts {
  bytesIn: number;
  bytesOut: number;
}

/** Both ends of an exchange that has switched protocols: bytes flow both ways until one side ends. */
export class SwitchedSides {
  readonly #client: Duplex;
  readonly #upstream: Duplex;
  readonly #close: WebSocketClose;

  constructor(client: Duplex, upstream: Duplex) {
    this.#client = client;
    this.#upstream = upstream;
    this.#close = new WebSocketClose(client, upstream);
  }

  carry(counts: SwitchedCounts, owner: ListenerOwner, onOver: () => void): void {
    listen(this.#client, 'data', owner, (chunk: Buffer) => {
      counts.bytesIn += chunk.length;
    });
    listen(this.#upstream, 'data', owner, (chunk: Buffer) => {
      counts.bytesOut += chunk.length;
    });
    splice(this.#client, this.#upstream, owner, onOver);
  }

  /** The server stops: somebody may keep a WebSocket open for hours. */
  goAway(): void {
    this.#close.send();
  }

  breakOff(): void {
    breakOff(this.#client);
    breakOff(this.#upstream);
  }
}
