import type { Duplex } from 'node:stream';
import { guarded, type ListenerOwner, listen, listenOnce } from '../../lib/guarded-listeners.ts';
import { breakOff, splice } from '../../lib/net/sockets.ts';
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
  readonly #halfClosedMs: number;
  #timer: NodeJS.Timeout | null = null;

  /** `halfClosedMs`: how long one side may stay open without data after the other has ended. */
  constructor(client: Duplex, upstream: Duplex, halfClosedMs: number) {
    this.#client = client;
    this.#upstream = upstream;
    this.#halfClosedMs = halfClosedMs;
    this.#close = new WebSocketClose(client, upstream);
  }

  carry(counts: SwitchedCounts, owner: ListenerOwner, onOver: () => void): void {
    listen(this.#client, 'data', owner, (chunk: Buffer) => {
      counts.bytesIn += chunk.length;
    });
    listen(this.#upstream, 'data', owner, (chunk: Buffer) => {
      counts.bytesOut += chunk.length;
    });
    for (const side of [this.#client, this.#upstream])
      listenOnce(side, 'end', owner, () => this.#closeWhenIdle(counts, owner));
    splice(this.#client, this.#upstream, owner, () => {
      if (this.#timer !== null) clearTimeout(this.#timer);
      onOver();
    });
  }

  /**
   * A client that vanished has ended its direction. A service that ignores that, as some do, would keep both connections
   * permanently. While data flows, the other end is still there.
   */
  #closeWhenIdle(counts: SwitchedCounts, owner: ListenerOwner): void {
    if (this.#timer !== null) return;
    const bytes = counts.bytesIn + counts.bytesOut;
    const look = guarded(owner, () => {
      this.#timer = null;
      if (bytes === counts.bytesIn + counts.bytesOut) this.breakOff();
      else this.#closeWhenIdle(counts, owner);
    });
    this.#timer = setTimeout(look, this.#halfClosedMs).unref();
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
