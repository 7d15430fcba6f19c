import type { Http2Session } from 'node:http2';
import type { Socket } from 'node:net';
import { guarded, type ListenerOwner } from '../../lib/guarded-listeners.ts';

export interface LivenessOwner extends ListenerOwner {
  /** `sentAtMs`: the other node was alive at this time or later. */
  onAnswer(sentAtMs: number): void;
  onSilent(): void;
}

export interface PeerTimings {
  /** Null: this node only listens, because the other node pings. */
  readonly pingMs: number | null;
  readonly silentMs: number;
}

const TICK_MS = 100;
/**
 * A tick that comes late means that this process stood still, and that bytes may wait unread. A late tick counts as no
 * more than two ticks, so that the peer counts as silent only after the event loop could read those bytes.
 */
const MOST_PER_TICK_MS = 2 * TICK_MS;

/** Pings a peer and reports when nothing arrived for too long. Any bytes count: a ping may wait behind a large transfer. */
export class PeerLiveness {
  readonly #socket: Socket;
  readonly #session: Http2Session;
  readonly #owner: LivenessOwner;
  readonly #timings: PeerTimings;
  readonly #timer: NodeJS.Timeout;
  #bytesRead = 0;
  #silentMs = 0;
  #tickedAtMs = performance.now();
  #pingedAtMs = Number.NEGATIVE_INFINITY;

  constructor(socket: Socket, session: Http2Session, owner: LivenessOwner, timings: PeerTimings) {
    this.#socket = socket;
    this.#session = session;
    this.#owner = owner;
    this.#timings = timings;
    this.#timer = setInterval(
      guarded(owner, () => this.#tick()),
      TICK_MS,
    ).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  ping(): void {
    const sentAtMs = performance.now();
    this.#pingedAtMs = sentAtMs;
    if (this.#session.destroyed || this.#session.closed) return;
    const answered = guarded(this.#owner, (error: Error | null) => {
      if (error === null) this.#owner.onAnswer(sentAtMs);
    });
    // Returns false while ten pings are unanswered: the connection is busy, or silent.
    this.#session.ping(answered);
  }

  #tick(): void {
    const { pingMs, silentMs } = this.#timings;
    const nowMs = performance.now();
    const passedMs = Math.min(nowMs - this.#tickedAtMs, MOST_PER_TICK_MS);
    this.#tickedAtMs = nowMs;
    const { bytesRead } = this.#socket;
    this.#silentMs = bytesRead === this.#bytesRead ? this.#silentMs + passedMs : 0;
    this.#bytesRead = bytesRead;
    if (this.#silentMs >= silentMs) {
      this.stop();
      this.#owner.onSilent();
    } else if (pingMs !== null && nowMs - this.#pingedAtMs >= pingMs) this.ping();
  }
}
