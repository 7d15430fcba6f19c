import { AcmeFailure } from '../client/acme-failure.ts';
import type { OrderPorts } from './order-ports.ts';

const FIRST_MS = 250;
const LONGEST_MS = 15_000;
/** Afterwards the order is left as it is, and continued with the next attempt. */
const PATIENCE_MS = 10 * 60 * 1000;

/** Waits between questions about one order, in all for a bounded time. */
export class Polling {
  readonly #ports: Pick<OrderPorts, 'clock' | 'wait'>;
  readonly #signal: AbortSignal;
  readonly #host: string;
  readonly #untilMs: number;
  #waitMs = FIRST_MS;

  constructor(ports: Pick<OrderPorts, 'clock' | 'wait'>, host: string, signal: AbortSignal) {
    this.#ports = ports;
    this.#signal = signal;
    this.#host = host;
    this.#untilMs = ports.clock.nowMs() + PATIENCE_MS;
  }

  /** `state` completes the message: "has not …". */
  async next(retryAtMs: number | null, state: string): Promise<void> {
    const nowMs = this.#ports.clock.nowMs();
    const waitMs = Math.max(this.#waitMs, (retryAtMs ?? 0) - nowMs);
    this.#waitMs = Math.min(this.#waitMs * 1.5, LONGEST_MS);
    if (nowMs + waitMs > this.#untilMs) {
      const message = `${this.#host} ${state} within ${PATIENCE_MS / 60_000} minutes; the same order is continued later`;
      throw new AcmeFailure('ERR_POSTERN_ACME_PENDING', message, { isOrderAlive: true, retryAtMs });
    }
    await this.#ports.wait(waitMs, this.#signal);
  }
}
