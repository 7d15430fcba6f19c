import type { Http2Session } from 'node:http2';

/** What one connection may hold of data that nobody has taken yet, as far as windows decide it. */
const BUDGET_BYTES = 64 * 1024 * 1024;
const LARGEST_BYTES = 32 * 1024 * 1024;
const SMALLEST_BYTES = 256 * 1024;
/** The runtime gives back the connection's window on arrival: it only has to be no narrower than the widest stream. */
export const CONNECTION_WINDOW_BYTES = 2 * BUDGET_BYTES;

/** What a session starts with, before any stream is there. */
export const INITIAL_WINDOW_BYTES = LARGEST_BYTES;

/**
 * Windows of streams: wide when there are few, because a long fast line needs tens of megabytes under way for one stream; narrow
 * when there are many, because every stream whose reader is slow can fill its window, and memory is their sum. HTTP/2 lets a
 * receiver change the window of all streams at any time (RFC 9113 §6.9.2), so it follows the number of streams in steps of two.
 */
export class SessionWindows {
  readonly #session: Http2Session;
  #streams = 0;
  #bytes = INITIAL_WINDOW_BYTES;
  /** The runtime ends a session with more than ten settings that the peer has not confirmed: there is one at a time. */
  #isPending = false;

  constructor(session: Http2Session) {
    this.#session = session;
  }

  opened(): void {
    this.#streams += 1;
    this.#adjust();
  }

  closed(): void {
    this.#streams -= 1;
    this.#adjust();
  }

  #adjust(): void {
    const wanted = windowFor(this.#streams);
    // Wider again only when half of the streams have gone: else one that comes and goes would send settings each time.
    const isOutOfStep =
      wanted < this.#bytes || wanted >= this.#bytes * 4 || (wanted > this.#bytes && this.#streams <= 1);
    if (!isOutOfStep || this.#isPending || this.#session.closed || this.#session.destroyed) return;
    this.#bytes = wanted;
    this.#isPending = true;
    this.#session.settings({ initialWindowSize: wanted }, () => {
      this.#isPending = false;
      this.#adjust();
    });
  }
}

/** A power of two, so that it changes seldom. */
export function windowFor(streams: number): number {
  let bytes = LARGEST_BYTES;
  while (bytes > SMALLEST_BYTES && bytes * streams > BUDGET_BYTES) bytes /= 2;
  return bytes;
}
