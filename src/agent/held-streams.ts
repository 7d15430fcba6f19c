import type { ServerHttp2Stream } from 'node:http2';
import { closing, guarded, listenOnce } from '../lib/guarded-listeners.ts';
import { MAX_BUSY_CONNECTIONS, MAX_STREAMS_PER_CONNECTION } from '../tunnel/protocol.ts';
import type { GatewayConnection } from './gateway-connection.ts';
import { refuseStream } from './local/local-failure.ts';
import type { RequestReading } from './local/request-reading.ts';

export interface HeldStream {
  readonly connection: GatewayConnection;
  readonly stream: ServerHttp2Stream;
  readonly reading: RequestReading;
}

const HOLD_MS = 5_000;
/** All that the connections of an agent can have: a limit below that would be one that a single visitor reaches. */
const MAX_HELD = MAX_BUSY_CONNECTIONS * MAX_STREAMS_PER_CONNECTION;

/**
 * A request's head may overtake the message that announces its tunnel: both are in flight at once, and HTTP/2 sends
 * headers before data. A stream for a tunnel that is not known yet is therefore held for a short time.
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

  /** A tunnel has become known: returns all held streams for another look. */
  release(): readonly HeldStream[] {
    const all = [...this.#held.keys()];
    for (const timer of this.#held.values()) clearTimeout(timer);
    this.#held.clear();
    return all;
  }
}
