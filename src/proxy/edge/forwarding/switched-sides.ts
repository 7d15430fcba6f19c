import type { Duplex } from 'node:stream';
import { closing, guarded, type ListenerOwner, listen, listenOnce } from '../../../kit/guarded-listeners.ts';
import { CLOSE_WITHIN_MS, WebSocketDirection } from '../../../kit/http/web-sockets.ts';
import { breakOff, splice } from '../../../kit/net/sockets.ts';

/** Closes a forwarded WebSocket cleanly: inserts a Close frame between two frames in each direction. */
class WebSocketClose {
  readonly #client: Duplex;
  readonly #upstream: Duplex;
  readonly #owner: ListenerOwner;
  readonly #toClient: Way;
  readonly #toUpstream: Way;
  #isWanted = false;

  /** Before the two are connected with `splice`. */
  constructor(client: Duplex, upstream: Duplex) {
    this.#client = client;
    this.#upstream = upstream;
    const owner = closing({ destroy: () => [client.destroy(), upstream.destroy()] }, 'WebSocket');
    this.#owner = owner;
    const onClosed = (): void => this.#endIfClosed();
    const [toClient, toService] = [new WebSocketDirection('client'), new WebSocketDirection('service')];
    this.#toClient = new Way({ from: upstream, to: client, frames: toClient, owner, onClosed });
    this.#toUpstream = new Way({ from: client, to: upstream, frames: toService, owner, onClosed });
  }

  send(): void {
    if (this.#isWanted) return;
    this.#isWanted = true;
    try {
      this.#toClient.close();
      this.#toUpstream.close();
    } catch (error) {
      this.#owner.contain(error);
    }
  }

  /** Not one by one: a server that sees the end of its connection may not finish its current frame. */
  #endIfClosed(): void {
    if (!this.#toClient.isClosed || !this.#toUpstream.isClosed) return;
    for (const side of [this.#client, this.#upstream]) endSoon(side);
  }
}

interface WayParts {
  readonly from: Duplex;
  readonly to: Duplex;
  readonly frames: WebSocketDirection;
  readonly owner: ListenerOwner;
  readonly onClosed: () => void;
}

/** Forwards one direction itself from the moment that it is to be closed. */
class Way {
  readonly #parts: WayParts;
  #isClosing = false;

  constructor(parts: WayParts) {
    this.#parts = parts;
    listen(parts.from, 'data', parts.owner, (chunk: Buffer) => this.#passes(chunk));
  }

  get isClosed(): boolean {
    return this.#parts.frames.isClosed;
  }

  /** From now on the rest of the current frame is forwarded here, then the Close frame, then nothing. */
  close(): void {
    const { from, to } = this.#parts;
    this.#isClosing = true;
    from.unpipe(to);
    this.#closeBetweenFrames();
    // Also if it is closed: its end must still be seen.
    if (this.isClosed || !to.writableNeedDrain) from.resume();
    else this.#waitForRoom();
  }

  #passes(chunk: Buffer): void {
    if (this.isClosed) return;
    const { to, frames } = this.#parts;
    if (!this.#isClosing) {
      frames.pass(chunk);
      return;
    }
    // A busy service never sends a chunk that ends with a frame.
    const rest = chunk.subarray(0, frames.passFrame(chunk));
    const hasRoom = !to.writable || to.write(rest);
    this.#closeBetweenFrames();
    if (!this.isClosed && !hasRoom) this.#waitForRoom();
  }

  #waitForRoom(): void {
    const { from, to, owner } = this.#parts;
    from.pause();
    listenOnce(to, 'drain', owner, () => from.resume());
  }

  #closeBetweenFrames(): void {
    const { to, frames, onClosed } = this.#parts;
    frames.close(to);
    if (frames.isClosed) onClosed();
  }
}

function endSoon(side: Duplex): void {
  if (side.destroyed || side.writableEnded) return;
  side.end();
  const timer = setTimeout(() => side.destroy(), CLOSE_WITHIN_MS);
  listenOnce(side, 'close', closing(side, 'WebSocket'), () => clearTimeout(timer));
}

/** Counts the bytes of a switched exchange. */
interface SwitchedCounts {
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
   * A client that vanished has ended its direction. A service that ignores that, as some do, would keep both
   * connections permanently. While data flows, the other end is still there.
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
