import type { Http2Session } from 'node:http2';
import type { Socket } from 'node:net';
import { closing, guarded, listenOnce } from '../../kit/guarded-listeners.ts';
import { destroySession } from '../../kit/http2/sessions.ts';
import { DEAD_AFTER_MS, PING_AFTER_MS } from './protocol.ts';

export interface LivenessTimings {
  readonly checkMs: number;
  readonly pingAfterMs: number;
  readonly deadAfterMs: number;
}

export const LIVENESS_TIMINGS: LivenessTimings = {
  checkMs: 1_000,
  pingAfterMs: PING_AFTER_MS,
  deadAfterMs: DEAD_AFTER_MS,
};

/** How often the round trip is measured while somebody looks at it. */
const MEASURE_AFTER_MS = 10_000;

/**
 * Detects a connection that is dead although TCP does not report it: the peer's machine sleeps, a NAT dropped the
 * mapping, a cable is out. A silent peer is pinged, and one that does not respond in time is gone. Any received bytes
 * count, so a busy connection is never pinged.
 */
export class Liveness {
  readonly #socket: Socket;
  readonly #session: Http2Session;
  readonly #timings: LivenessTimings;
  readonly #timer: NodeJS.Timeout;
  #bytesRead = 0;
  #heardAtMs = performance.now();
  /** Wall clock: the monotonic clock stops on many systems while the machine sleeps. */
  #checkedAtMs = Date.now();
  #isAsked = false;
  #roundTripMs: number | null = null;
  #pingedAtMs = Number.NEGATIVE_INFINITY;

  constructor(socket: Socket, session: Http2Session, onDead: () => void, timings = LIVENESS_TIMINGS) {
    this.#socket = socket;
    this.#session = session;
    this.#timings = timings;
    const owner = closing({ destroy: () => destroySession(session, null) }, 'liveness');
    this.#timer = setInterval(
      guarded(owner, () => this.#check(onDead)),
      timings.checkMs,
    ).unref();
    listenOnce(session, 'close', owner, () => this.stop());
  }

  /** Duration of the last answered ping. */
  get roundTripMs(): number | null {
    return this.#roundTripMs;
  }

  /** Pings for `roundTripMs`, unless that was done lately: false. */
  measure(): boolean {
    return performance.now() - this.#pingedAtMs >= MEASURE_AFTER_MS && this.#ping(() => {});
  }

  /** Whether the peer responds within this time. */
  isAlive(withinMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), withinMs);
      const settle = (isAnswered: boolean): void => {
        clearTimeout(timer);
        resolve(isAnswered);
      };
      if (!this.#ping(settle)) settle(false);
    });
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #check(onDead: () => void): void {
    const { checkMs, pingAfterMs, deadAfterMs } = this.#timings;
    const now = performance.now();
    const wallNow = Date.now();
    const { bytesRead } = this.#socket;
    // This process itself was asleep: the silence says nothing about the peer.
    const hasSlept = wallNow - this.#checkedAtMs > 3 * checkMs;
    this.#checkedAtMs = wallNow;
    if (bytesRead !== this.#bytesRead) {
      this.#bytesRead = bytesRead;
      this.#heardAtMs = now;
      this.#isAsked = false;
    } else if (hasSlept) {
      // Pings at once, with the same deadline as after a silence.
      this.#heardAtMs = now - pingAfterMs;
      this.#isAsked = false;
    }
    const silentMs = now - this.#heardAtMs;
    if (silentMs >= deadAfterMs) {
      this.stop();
      onDead();
    } else if ((silentMs >= pingAfterMs || hasSlept) && !this.#isAsked) {
      this.#isAsked = true;
      this.#ping(() => {});
    }
  }

  /** `onSettled` receives false when the session ends first. */
  #ping(onSettled: (isAnswered: boolean) => void): boolean {
    if (this.#session.destroyed) return false;
    this.#pingedAtMs = performance.now();
    return this.#session.ping((error, durationMs) => {
      if (error === null) this.#roundTripMs = durationMs;
      onSettled(error === null);
    });
  }
}
