import type { Http2Session } from 'node:http2';
import { closing, guarded, type ListenerOwner, listenOnce } from '../lib/guarded-listeners.ts';
import { destroySession } from '../lib/http2/destroy.ts';

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
  readonly #budgetBytes: () => number;
  readonly #owner: ListenerOwner;
  #streams = 0;
  /** What readers that are slower than the line leave of the window. */
  #cap = LARGEST_BYTES;
  #cappedAtMs = Number.NEGATIVE_INFINITY;
  /** The maximum since the timer was last set or fired. */
  #most = 0;
  #bytes = INITIAL_WINDOW_BYTES;
  /** The runtime ends a session with more than ten unconfirmed settings: only one is sent at a time. */
  #isPending = false;
  #timer: NodeJS.Timeout | null = null;

  /** `budgetBytes`: unread data that this connection may hold now, if that changes. */
  constructor(session: Http2Session, budgetBytes: () => number = () => BUDGET_BYTES) {
    this.#session = session;
    this.#budgetBytes = budgetBytes;
    this.#owner = closing({ destroy: () => destroySession(session, null) }, 'session windows');
    listenOnce(session, 'close', this.#owner, () => this.#cancel());
  }

  get streams(): number {
    return this.#streams;
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

  /**
   * This much waits for its readers. More than half of the windows shows that they are slower than the line, and that
   * narrower ones would not delay them. Widened again in steps.
   */
  unread(bytes: number): void {
    const nowMs = performance.now();
    if (bytes <= (this.#bytes * this.#streams) / 2 || nowMs - this.#cappedAtMs < WIDEN_AFTER_MS) return;
    this.#cappedAtMs = nowMs;
    this.#cap = Math.max(SMALLEST_BYTES, this.#bytes / 2);
    this.#narrow();
    this.#widenLater();
  }

  #windowFor(streams: number): number {
    return Math.min(this.#cap, windowFor(streams, this.#budgetBytes()));
  }

  #narrow(): void {
    const wanted = this.#windowFor(this.#streams);
    if (wanted < this.#bytes) this.#set(wanted);
  }

  #widenLater(): void {
    const isCapped = this.#cap < LARGEST_BYTES;
    if (this.#timer !== null || this.#session.destroyed) return;
    if (!isCapped && this.#windowFor(this.#streams) <= this.#bytes) return;
    this.#most = this.#streams;
    const widen = guarded(this.#owner, () => {
      this.#timer = null;
      if (performance.now() - this.#cappedAtMs >= WIDEN_AFTER_MS) this.#cap = Math.min(LARGEST_BYTES, this.#cap * 2);
      const wanted = this.#windowFor(this.#most);
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
export function windowFor(streams: number, budgetBytes = BUDGET_BYTES): number {
  let bytes = LARGEST_BYTES;
  // Without streams it is what the first one gets, so that the first one changes nothing.
  while (bytes > SMALLEST_BYTES && bytes * Math.max(streams, 1) > budgetBytes) bytes /= 2;
  return bytes;
}
