import type { Writable } from 'node:stream';
import { FrameBoundary } from './frame-boundary.ts';

/** Close frames with status 1001 "going away" (RFC 6455 §5.5.1 and §7.4.1). */
const TO_CLIENT = Buffer.from([0x88, 0x02, 0x03, 0xe9]);
/** A client's frames are masked; the mask hides nothing here. */
const TO_SERVICE = Buffer.from([0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe9]);

/** Time for frames that were begun, and for both programs to close a WebSocket. */
export const CLOSE_WITHIN_MS = 1000;

/** One direction of a forwarded WebSocket, which can be closed cleanly: with a Close frame between two others. */
export class WebSocketDirection extends FrameBoundary {
  readonly #closeFrame: Buffer;
  /** Nothing may follow. */
  isClosed = false;

  constructor(to: 'client' | 'service') {
    super();
    this.#closeFrame = to === 'client' ? TO_CLIENT : TO_SERVICE;
  }

  /** Only between two frames: call it again after the rest of the current one, which ends at `passFrame`. */
  close(to: Writable): void {
    if (this.isClosed || !this.isBetweenFrames) return;
    this.isClosed = true;
    if (to.writable && !this.hasClose) to.write(this.#closeFrame);
  }
}
