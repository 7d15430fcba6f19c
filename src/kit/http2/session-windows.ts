import type { Http2Session } from 'node:http2';
import { closing, guarded, type ListenerOwner, listenOnce } from '../guarded-listeners.ts';
import { isCrowded, onCrowding, roomForBytes, waits } from '../net/waiting-bytes.ts';
import { destroySession } from './sessions.ts';

/** Unread data that one connection may hold, as far as windows decide it. */
const BUDGET_BYTES = 64 * 1024 * 1024;
const LARGEST_BYTES = 32 * 1024 * 1024;
const SMALLEST_BYTES = 256 * 1024;
/** While much waits for slow readers: 64 KB are HTTP/2's own window, and thousands of streams may wait. */
const CROWDED_BYTES = 32 * 1024;
/**
 * A connection that holds this much gets smaller windows: a stream whose reader has stopped would fill the largest one.
 */
const HOLDING_BYTES = 1024 * 1024;
const LARGEST_WHILE_HOLDING_BYTES = 8 * 1024 * 1024;
/** The runtime returns the connection's window on arrival: it only has to be no narrower than the widest stream. */
export const CONNECTION_WINDOW_BYTES = 2 * BUDGET_BYTES;

/** The window of a session before it has streams. */
export const INITIAL_WINDOW_BYTES = LARGEST_BYTES;

/**
 * Windows are widened only after this time has shown that there is room: load comes in bursts, and settings cost both
 * ends.
 */
const WIDEN_AFTER_MS = 500;

export interface WindowBounds {
  /** Unread data that the connection may hold now. */
  readonly budgetBytes?: () => number;
  /** The window of a single stream, which the session announces first. */
  readonly largestBytes?: number;
  /** The window of a stream when many are open. */
  readonly smallestBytes?: number;
  /**
   * The window of a stream while much waits in this thread. 0: it does not matter, because the session carries
   * requests.
   */
  readonly crowdedBytes?: number;
}

export const OF_REQUESTS = { crowdedBytes: 0 } satisfies WindowBounds;

/**
 * Stream windows: wide when there are few streams, because a long fast line needs tens of megabytes in flight per
 * stream; narrow when there are many, because every stream with a slow reader can fill its window, and memory is their
 * sum. HTTP/2 lets a receiver change the window of all streams at any time (RFC 9113 §6.9.2), so it follows the number
 * of streams in powers of two: down immediately, up by the recent maximum of open streams.
 *
 * What is held for readers that do not read is missing in the windows of all: of the connection, and of this thread. A
 * stream whose reader has stopped keeps what it had; others get smaller windows, down to `crowdedBytes`.
 */
export class SessionWindows {
  readonly #session: Http2Session;
  readonly #budgetBytes: () => number;
  readonly #largestBytes: number;
  readonly #smallestBytes: number;
  readonly #crowdedBytes: number;
  readonly #forget: () => void;
  readonly #owner: ListenerOwner;
  #streams = 0;
  /** Parts of responses that wait for their readers. */
  #heldBytes = 0;
  #isOver = false;
  /** What readers that are slower than the line leave of the window. */
  #cap: number;
  #cappedAtMs = Number.NEGATIVE_INFINITY;
  /** The maximum since the timer was last set or fired. */
  #most = 0;
  #bytes: number;
  /** The runtime ends a session with more than ten unconfirmed settings: only one is sent at a time. */
  #isPending = false;
  #timer: NodeJS.Timeout | null = null;

  constructor(session: Http2Session, bounds: WindowBounds = {}) {
    this.#session = session;
    this.#budgetBytes = bounds.budgetBytes ?? usualBudget;
    this.#largestBytes = bounds.largestBytes ?? LARGEST_BYTES;
    this.#smallestBytes = bounds.smallestBytes ?? SMALLEST_BYTES;
    this.#crowdedBytes = bounds.crowdedBytes ?? CROWDED_BYTES;
    this.#cap = this.#largestBytes;
    this.#bytes = this.#largestBytes;
    this.#owner = closing({ destroy: () => destroySession(session, null) }, 'session windows');
    this.#forget = this.#crowdedBytes === 0 ? () => {} : onCrowding(guarded(this.#owner, () => this.#follow()));
    listenOnce(session, 'close', this.#owner, () => this.#cancel());
  }

  get heldBytes(): number {
    return this.#heldBytes;
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

  /** This much more of the responses waits for its readers, or less. */
  held(bytes: number): void {
    if (this.#isOver) return;
    this.#heldBytes += bytes;
    waits(bytes);
    if (bytes > 0) this.#narrow();
    else this.#widenLater();
  }

  /**
   * So many bytes wait for their readers. More than half of the windows shows that they are slower than the line, and
   * that narrower ones would not delay them. Widened again in steps.
   */
  unread(bytes: number): void {
    const nowMs = performance.now();
    if (bytes <= (this.#bytes * this.#streams) / 2 || nowMs - this.#cappedAtMs < WIDEN_AFTER_MS) return;
    this.#cappedAtMs = nowMs;
    this.#cap = Math.max(this.#smallestBytes, this.#bytes / 2);
    this.#narrow();
    this.#widenLater();
  }

  #windowFor(streams: number): number {
    const bounds = { largest: this.#largestBytes, smallest: this.#smallestBytes, crowded: this.#crowdedBytes };
    return Math.min(this.#cap, narrowedFor(streams, this.#heldBytes, this.#budgetBytes(), bounds));
  }

  #follow(): void {
    this.#narrow();
    this.#widenLater();
  }

  #narrow(): void {
    const wanted = this.#windowFor(this.#streams);
    if (wanted < this.#bytes) this.#set(wanted);
  }

  #widenLater(): void {
    const isCapped = this.#cap < this.#largestBytes;
    if (this.#timer !== null || this.#session.destroyed) return;
    if (!isCapped && this.#windowFor(this.#streams) <= this.#bytes) return;
    this.#most = this.#streams;
    const widen = guarded(this.#owner, () => {
      this.#timer = null;
      if (performance.now() - this.#cappedAtMs >= WIDEN_AFTER_MS)
        this.#cap = Math.min(this.#largestBytes, this.#cap * 2);
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
    this.#isOver = true;
    this.#forget();
    waits(-this.#heldBytes);
    if (this.#timer !== null) clearTimeout(this.#timer);
  }
}

/** A power of two, so that it changes rarely. */
function windowFor(streams: number, budgetBytes: number, largestBytes: number, smallestBytes: number): number {
  let bytes = largestBytes;
  // Without streams it is what the first one gets, so that the first one changes nothing.
  while (bytes > smallestBytes && bytes * Math.max(streams, 1) > budgetBytes) bytes /= 2;
  return bytes;
}

const USUAL_BOUNDS = { largest: LARGEST_BYTES, smallest: SMALLEST_BYTES, crowded: CROWDED_BYTES };

/** The window of each exchange on a channel that holds these bytes. */
export function narrowedWindow(streams: number, heldBytes: number, budgetBytes = BUDGET_BYTES): number {
  return narrowedFor(streams, heldBytes, budgetBytes, USUAL_BOUNDS);
}

/** While much waits, other sessions get some of what is left in this thread, too. */
function narrowedFor(streams: number, heldBytes: number, budgetBytes: number, bounds: typeof USUAL_BOUNDS): number {
  const wide = windowFor(streams, budgetBytes, bounds.largest, bounds.smallest);
  const isHolding = heldBytes >= HOLDING_BYTES;
  if (bounds.crowded === 0 || !(isHolding || isCrowded())) return wide;
  const left = budgetBytes - heldBytes;
  const largest = isHolding ? Math.min(bounds.largest, LARGEST_WHILE_HOLDING_BYTES) : bounds.largest;
  return Math.min(
    wide,
    windowFor(streams, isCrowded() ? Math.min(left, roomForBytes() / 2) : left, largest, bounds.crowded),
  );
}

function usualBudget(): number {
  return BUDGET_BYTES;
}
