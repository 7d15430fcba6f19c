import type { Http2Stream } from 'node:http2';
import { FrameBoundary } from '../../lib/frame-boundary.ts';
import { GOODBYE_TO_CLIENT, GOODBYE_TO_SERVICE } from '../../lib/web-socket-goodbye.ts';

/** One direction of a WebSocket. */
class Direction extends FrameBoundary {
  readonly #goodbye: Buffer;
  /** The Close frame is sent: nothing may follow it. */
  isClosed = false;

  constructor(goodbye: Buffer) {
    super();
    this.#goodbye = goodbye;
  }

  close(to: Http2Stream): void {
    if (this.isClosed || !this.isBetweenFrames) return;
    this.isClosed = true;
    if (to.writable && !this.hasClose) to.write(this.#goodbye);
  }
}

/** The frames of a WebSocket that passes through, to close it cleanly: with a Close frame between two others. */
export class PassedFrames {
  readonly toClient = new Direction(GOODBYE_TO_CLIENT);
  readonly toService = new Direction(GOODBYE_TO_SERVICE);
  isClosing = false;

  /** Call it again after each frame. True: both directions are closed. */
  close(client: Http2Stream, service: Http2Stream): boolean {
    this.toClient.close(client);
    this.toService.close(service);
    return this.toClient.isClosed && this.toService.isClosed;
  }
}
