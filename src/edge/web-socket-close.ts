import type { Duplex } from 'node:stream';
import { FrameBoundary } from '../lib/frame-boundary.ts';
import { closing, listen, listenOnce } from '../lib/guarded-listeners.ts';
import { GOODBYE_TO_CLIENT, GOODBYE_TO_SERVICE } from '../lib/web-socket-goodbye.ts';

/** Time for both ends to close. */
const GRACE_MS = 1000;

/** Closes a forwarded WebSocket cleanly: inserts a Close frame between two frames in each direction. */
export class WebSocketClose {
  readonly #client: Duplex;
  readonly #upstream: Duplex;
  readonly #framesToClient = new FrameBoundary();
  readonly #framesToUpstream = new FrameBoundary();
  #isWanted = false;
  #isSentToClient = false;
  #isSentToUpstream = false;

  constructor(client: Duplex, upstream: Duplex) {
    this.#client = client;
    this.#upstream = upstream;
    const owner = closing({ destroy: () => [client.destroy(), upstream.destroy()] }, 'WebSocket');
    listen(upstream, 'data', owner, (chunk: Buffer) => this.#passes(this.#framesToClient, chunk));
    listen(client, 'data', owner, (chunk: Buffer) => this.#passes(this.#framesToUpstream, chunk));
  }

  send(): void {
    if (this.#isWanted) return;
    this.#isWanted = true;
    this.#sendBetweenFrames();
  }

  #passes(frames: FrameBoundary, chunk: Buffer): void {
    frames.pass(chunk);
    // After the chunk, which is still to be written.
    if (this.#isWanted) queueMicrotask(() => this.#sendBetweenFrames());
  }

  #sendBetweenFrames(): void {
    if (!this.#isSentToClient && this.#framesToClient.isBetweenFrames) {
      this.#isSentToClient = true;
      insteadOfTheRest(this.#upstream, this.#client, GOODBYE_TO_CLIENT);
    }
    if (!this.#isSentToUpstream && this.#framesToUpstream.isBetweenFrames) {
      this.#isSentToUpstream = true;
      insteadOfTheRest(this.#client, this.#upstream, GOODBYE_TO_SERVICE);
    }
    // Not one by one: a server that sees the end of its connection may not finish its current frame.
    if (this.#isSentToClient && this.#isSentToUpstream)
      for (const side of [this.#client, this.#upstream]) endSoon(side);
  }
}

function insteadOfTheRest(from: Duplex, to: Duplex, frame: Buffer): void {
  from.unpipe(to);
  // Its end must still be seen.
  from.resume();
  if (to.writable) to.write(frame);
}

function endSoon(side: Duplex): void {
  if (side.destroyed || side.writableEnded) return;
  side.end();
  const timer = setTimeout(() => side.destroy(), GRACE_MS);
  listenOnce(side, 'close', closing(side, 'WebSocket'), () => clearTimeout(timer));
}
