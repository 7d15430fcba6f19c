import type { Http2Session } from 'node:http2';
import { closing, guarded, type ListenerOwner, listenOnce } from '../lib/guarded-listeners.ts';
import { destroySession } from '../lib/http2-destroy.ts';

/** Unread data that one connection may hold, as far as windows decide it. */
const BUDGET_BYTES = 64 * 1024 * 1024;
const LARGEST_BYTES = 32 * 1024 * 1024;
const SMALLEST_BYTES = 256 * 1024;
/** The runtime returns the connection's window on arrival: it only has to be no narrower than the widest stream. */
export const CONNECTION_WINDOW_BYTES = 2 * BUDGET_BYTES;

/** The window of a session before it has streams. */
export const INITIAL_WINDOW_BYTES = LARGEST_BYTES;

/**
 * Windows are widened only after this time has shown that there is room: load comes in bursts, and settings cost both
 * ends.
 */
const WIDEN_AFTER_MS = 500;

/**
 * Stream windows: wide when there are few streams, because a long fast line needs tens of megabytes in flight per
 * stream; narrow when there are many, because every stream with a slow reader can fill its window, and memory is their
 * sum. HTTP/2 lets a receiver change the window of all streams at any time (RFC 9113 §6.9.2), so it follows the number
 * of streams in powers of two: down immediately, up by the recent maximum of open streams.
 */
export class SessionWindows {
  readonly #session: Http2Session;
  readonly #owner: ListenerOwner;
  #streams = 0;
  /** The maximum since the timer was last set or fired. */
  #most = 0;
  #bytes = INITIAL_WINDOW_BYTES;
  /** The runtime ends a session with more than ten unconfirmed settings: only one is sent at a time. */
  #isPending = false;
  #timer: NodeJS.Timeout | null = null;

  constructor(session: Http2Session) {
    this.#session = session;
    this.#owner = closing({ destroy: () => destroySession(session, null) }, 'session windows');
    listenOnce(session, 'close', this.#owner, () => this.#cancel());
  }

  opened(): void {
    this.#streams += 1;
    if (this.#streams > this.#most) this.#most = this.#streams;
    this.#narrow();
  }

  closed(): void {
    this.#streams -= 1;
    this.#widenLater();
  }

  #narrow(): void {
    const wanted = windowFor(this.#streams);
    if (wanted < this.#bytes) this.#set(wanted);
  }

  #widenLater(): void {
    if (this.#timer !== null || windowFor(this.#streams) <= this.#bytes || this.#session.destroyed) return;
    this.#most = this.#streams;
    const widen = guarded(this.#owner, () => {
      this.#timer = null;
      const wanted = windowFor(this.#most);
      if (wanted > this.#bytes) this.#set(wanted);
      this.#widenLater();
    });
    this.#timer = setTimeout(widen, WIDEN_AFTER_MS).unref();
  }

  #set(bytes: number): void {
    if (this.#isPending || this.#session.closed || this.#session.destroyed) return;
    this.#bytes = bytes;
    this.#isPending = true;
    const confirmed = guarded(this.#owner, () => {
      this.#isPending = false;
      this.#narrow();
      this.#widenLater();
    });
    this.#session.settings({ initialWindowSize: bytes }, confirmed);
  }

  #cancel(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
  }
}

/** A power of two, so that it changes rarely. */
export function windowFor(streams: number): number {
  let bytes = LARGEST_BYTES;
  while (bytes > SMALLEST_BYTES && bytes * streams > BUDGET_BYTES) bytes /= 2;
  return bytes;
}
