import type { Duplex } from 'node:stream';
import { FrameBoundary } from '../lib/frame-boundary.ts';
import { closing, type ListenerOwner, listen, listenOnce } from '../lib/guarded-listeners.ts';
import { GOODBYE_TO_CLIENT, GOODBYE_TO_SERVICE } from '../lib/web-socket-goodbye.ts';

/** Time for both ends to close. */
const GRACE_MS = 1000;

/** Closes a forwarded WebSocket cleanly: inserts a Close frame between two frames in each direction. */
export class WebSocketClose {
  readonly #client: Duplex;
  readonly #upstream: Duplex;
  readonly #toClient: Direction;
  readonly #toUpstream: Direction;
  #isWanted = false;

  /** Before the two are connected with `splice`. */
  constructor(client: Duplex, upstream: Duplex) {
    this.#client = client;
    this.#upstream = upstream;
    const owner = closing({ destroy: () => [client.destroy(), upstream.destroy()] }, 'WebSocket');
    const onClosed = (): void => this.#endIfClosed();
    this.#toClient = new Direction({ from: upstream, to: client, goodbye: GOODBYE_TO_CLIENT, owner, onClosed });
    this.#toUpstream = new Direction({ from: client, to: upstream, goodbye: GOODBYE_TO_SERVICE, owner, onClosed });
  }

  send(): void {
    if (this.#isWanted) return;
    this.#isWanted = true;
    this.#toClient.close();
    this.#toUpstream.close();
  }

  /** Not one by one: a server that sees the end of its connection may not finish its current frame. */
  #endIfClosed(): void {
    if (!this.#toClient.isClosed || !this.#toUpstream.isClosed) return;
    for (const side of [this.#client, this.#upstream]) endSoon(side);
  }
}

interface DirectionParts {
  readonly from: Duplex;
  readonly to: Duplex;
  readonly goodbye: Buffer;
  readonly owner: ListenerOwner;
  readonly onClosed: () => void;
}

class Direction {
  readonly #parts: DirectionParts;
  readonly #frames = new FrameBoundary();
  #isClosing = false;
  isClosed = false;

  constructor(parts: DirectionParts) {
    this.#parts = parts;
    listen(parts.from, 'data', parts.owner, (chunk: Buffer) => this.#passes(chunk));
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
    if (!this.#isClosing) {
      this.#frames.pass(chunk);
      return;
    }
    const { to } = this.#parts;
    // A busy service never sends a chunk that ends with a frame.
    const rest = chunk.subarray(0, this.#frames.passFrame(chunk));
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
    if (!this.#frames.isBetweenFrames) return;
    this.isClosed = true;
    const { to, goodbye, onClosed } = this.#parts;
    if (to.writable && !this.#frames.hasClose) to.write(goodbye);
    onClosed();
  }
}

function endSoon(side: Duplex): void {
  if (side.destroyed || side.writableEnded) return;
  side.end();
  const timer = setTimeout(() => side.destroy(), GRACE_MS);
  listenOnce(side, 'close', closing(side, 'WebSocket'), () => clearTimeout(timer));
}
