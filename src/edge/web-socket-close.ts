import type { Duplex } from 'node:stream';
import { closing, listen, listenOnce } from '../lib/guarded-listeners.ts';
import { FrameBoundary } from './frame-boundary.ts';

/** Close, status 1001 "going away" (RFC 6455 §5.5.1 and §7.4.1). */
const TO_CLIENT = Buffer.from([0x88, 0x02, 0x03, 0xe9]);
/** A client's frames are masked; the mask hides nothing here. */
const TO_UPSTREAM = Buffer.from([0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe9]);
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
      insteadOfTheRest(this.#upstream, this.#client, TO_CLIENT);
    }
    if (!this.#isSentToUpstream && this.#framesToUpstream.isBetweenFrames) {
      this.#isSentToUpstream = true;
      insteadOfTheRest(this.#client, this.#upstream, TO_UPSTREAM);
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
