import type { ServerHttp2Stream } from 'node:http2';
import { closing, guarded, listenOnce } from '../lib/guarded-listeners.ts';
import type { GatewayConnection } from './gateway-connection.ts';
import { refuseStream } from './local/local-failure.ts';
import type { RequestReading } from './local/request-reading.ts';

export interface HeldStream {
  readonly connection: GatewayConnection;
  readonly stream: ServerHttp2Stream;
  readonly reading: RequestReading;
}

const HOLD_MS = 5_000;
const MAX_HELD = 1_000;

/**
 * The head of a request may overtake the message that tells of its tunnel: both are on their way at once, and HTTP/2 sends heads
 * before data. So a stream for a tunnel that is not known yet waits a little.
 */
export class HeldStreams {
  readonly #held = new Map<HeldStream, NodeJS.Timeout>();

  hold(held: HeldStream): void {
    if (this.#held.size >= MAX_HELD) {
      refuseStream(held.stream, 404);
      return;
    }
    const owner = closing(held.stream, 'held stream');
    const giveUp = guarded(owner, () => {
      this.#held.delete(held);
      if (!held.stream.destroyed) refuseStream(held.stream, 404);
    });
    const timer = setTimeout(giveUp, HOLD_MS).unref();
    this.#held.set(held, timer);
    listenOnce(held.stream, 'close', owner, () => {
      clearTimeout(timer);
      this.#held.delete(held);
    });
  }

  /** Something has become known: all are looked at again. */
  release(): readonly HeldStream[] {
    const all = [...this.#held.keys()];
    for (const timer of this.#held.values()) clearTimeout(timer);
    this.#held.clear();
    return all;
  }
}
