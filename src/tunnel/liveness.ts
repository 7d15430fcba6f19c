import type { Http2Session } from 'node:http2';
import type { Socket } from 'node:net';
import { closing, guarded, listenOnce } from '../lib/guarded-listeners.ts';
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

/**
 * Notices a connection that is dead although TCP does not say so: the other end's machine sleeps, a NAT forgot us, a cable is out.
 * A peer from which nothing comes is asked, and one that does not answer in time is gone. What counts is bytes heard, so a busy
 * connection is never asked.
 */
export class Liveness {
  readonly #socket: Socket;
  readonly #session: Http2Session;
  readonly #timings: LivenessTimings;
  readonly #timer: NodeJS.Timeout;
  #bytesRead = 0;
  #heardAtMs = performance.now();
  /** By the wall clock: the other one stands still on many systems while the machine sleeps. */
  #checkedAtMs = Date.now();
  #isAsked = false;
  #roundTripMs: number | null = null;

  constructor(socket: Socket, session: Http2Session, onDead: () => void, timings = LIVENESS_TIMINGS) {
    this.#socket = socket;
    this.#session = session;
    this.#timings = timings;
    const owner = closing(session, 'liveness');
    this.#timer = setInterval(
      guarded(owner, () => this.#check(onDead)),
      timings.checkMs,
    ).unref();
    listenOnce(session, 'close', owner, () => this.stop());
  }

  /** Of the last ping that was answered. */
  get roundTripMs(): number | null {
    return this.#roundTripMs;
  }

  /** Whether the other end answers within so long. */
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
    // This process itself was asleep: what it did not hear meanwhile says nothing about the other end.
    const hasSlept = wallNow - this.#checkedAtMs > 3 * checkMs;
    this.#checkedAtMs = wallNow;
    if (bytesRead !== this.#bytesRead) {
      this.#bytesRead = bytesRead;
      this.#heardAtMs = now;
      this.#isAsked = false;
    } else if (hasSlept) {
      // Asked at once, and given as long as one that has just been asked after a silence.
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

  /** `onSettled` hears false when the session ends first. */
  #ping(onSettled: (isAnswered: boolean) => void): boolean {
    if (this.#session.destroyed) return false;
    return this.#session.ping((error, durationMs) => {
      if (error === null) this.#roundTripMs = durationMs;
      onSettled(error === null);
    });
  }
}
