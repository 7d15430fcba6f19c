import type { Http2Session } from 'node:http2';
import { closing, guarded, type ListenerOwner, listenOnce } from '../lib/guarded-listeners.ts';

/** What one connection may hold of data that nobody has taken yet, as far as windows decide it. */
const BUDGET_BYTES = 64 * 1024 * 1024;
const LARGEST_BYTES = 32 * 1024 * 1024;
const SMALLEST_BYTES = 256 * 1024;
/** The runtime gives back the connection's window on arrival: it only has to be no narrower than the widest stream. */
export const CONNECTION_WINDOW_BYTES = 2 * BUDGET_BYTES;

/** What a session starts with, before any stream is there. */
export const INITIAL_WINDOW_BYTES = LARGEST_BYTES;

/** Wider windows wait until so much time has shown that there is room: loads come in bursts, and settings have a price at both ends. */
const WIDEN_AFTER_MS = 500;

/**
 * Windows of streams: wide when there are few, because a long fast line needs tens of megabytes under way for one stream; narrow
 * when there are many, because every stream whose reader is slow can fill its window, and memory is their sum. HTTP/2 lets a
 * receiver change the window of all streams at any time (RFC 9113 §6.9.2), so it follows the number of streams in steps of two:
 * down at once, up by the most that were open at a time in the last while.
 */
export class SessionWindows {
  readonly #session: Http2Session;
  readonly #owner: ListenerOwner;
  #streams = 0;
  /** The most at a time since the timer was last set or fired. */
  #most = 0;
  #bytes = INITIAL_WINDOW_BYTES;
  /** The runtime ends a session with more than ten settings that the peer has not confirmed: there is one at a time. */
  #isPending = false;
  #timer: NodeJS.Timeout | null = null;

  constructor(session: Http2Session) {
    this.#session = session;
    this.#owner = closing(session, 'session windows');
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

/** A power of two, so that it changes seldom. */
export function windowFor(streams: number): number {
  let bytes = LARGEST_BYTES;
  while (bytes > SMALLEST_BYTES && bytes * streams > BUDGET_BYTES) bytes /= 2;
  return bytes;
}
