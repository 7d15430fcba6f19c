import type { Http2Session } from 'node:http2';
import type { Socket } from 'node:net';
import { DEAD_AFTER_MS, PING_AFTER_MS } from './protocol.ts';

const CHECK_MS = 1_000;

/**
 * Notices a connection that is dead although TCP does not say so: the other end's machine sleeps, a NAT forgot us, a cable is out.
 * A peer from which nothing comes is asked, and one that does not answer in time is gone. What counts is bytes heard, so a busy
 * connection is never asked.
 */
export class Liveness {
  readonly #socket: Socket;
  readonly #session: Http2Session;
  readonly #timer: NodeJS.Timeout;
  #bytesRead = 0;
  #heardAtMs = performance.now();
  #checkedAtMs = performance.now();
  #isAsked = false;
  #roundTripMs: number | null = null;

  constructor(socket: Socket, session: Http2Session, onDead: () => void) {
    this.#socket = socket;
    this.#session = session;
    this.#timer = setInterval(() => this.#check(onDead), CHECK_MS).unref();
    session.once('close', () => this.stop());
  }

  /** Of the last ping that was answered. */
  get roundTripMs(): number | null {
    return this.#roundTripMs;
  }

  /** Whether the other end answers within so long. */
  isAlive(withinMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), withinMs);
      const answered = this.#ping(() => {
        clearTimeout(timer);
        resolve(true);
      });
      if (!answered) {
        clearTimeout(timer);
        resolve(false);
      }
    });
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #check(onDead: () => void): void {
    const now = performance.now();
    const { bytesRead } = this.#socket;
    // This process itself was asleep: what it did not hear meanwhile says nothing about the other end.
    const hasSlept = now - this.#checkedAtMs > 3 * CHECK_MS;
    this.#checkedAtMs = now;
    if (bytesRead !== this.#bytesRead || hasSlept) {
      this.#bytesRead = bytesRead;
      this.#heardAtMs = now;
      this.#isAsked = false;
      if (!hasSlept) return;
    }
    const silentMs = now - this.#heardAtMs;
    if (silentMs >= DEAD_AFTER_MS) {
      this.stop();
      onDead();
    } else if ((silentMs >= PING_AFTER_MS || hasSlept) && !this.#isAsked) {
      this.#isAsked = true;
      this.#ping(() => {});
    }
  }

  #ping(onAnswer: () => void): boolean {
    if (this.#session.destroyed) return false;
    return this.#session.ping((error, durationMs) => {
      if (error !== null) return;
      this.#roundTripMs = durationMs;
      onAnswer();
    });
  }
}
