import type { Clock } from '../../../kit/clock.ts';
import { nodeFindings } from '../node.ts';
import type { Membership } from './membership.ts';

/** In this time, two clocks drift apart by less than two milliseconds. */
const VALID_MS = 10_000;
/** A peer passes on the database's time. A peer whose time differs by more is wrong, or hostile. */
const MAX_PEER_JUMP_MS = 5_000;

/**
 * The database's time, which all nodes share: the time in its last answer plus elapsed monotonic time. The answer to a
 * slow heartbeat is inexact, so the fastest answer counts.
 */
export class SharedTime {
  readonly #monotonicMs: () => number;
  /** Upper bound of the database's lead over the monotonic clock, so that leases never seem longer than they are. */
  #aheadMs: number;
  #readAtMs = Number.NEGATIVE_INFINITY;

  /** `startMs`: this machine's time, which counts until the first answer. */
  constructor(monotonicMs: () => number, startMs: number) {
    this.#monotonicMs = monotonicMs;
    this.#aheadMs = startMs - monotonicMs();
  }

  nowMs(): number {
    return Math.round(this.#monotonicMs() + this.#aheadMs);
  }

  /** The database answered `databaseMs` to a question that was sent at `sentAtMs`. */
  read(databaseMs: number, sentAtMs: number, { isFromPeer = false } = {}): void {
    const nowMs = this.#monotonicMs();
    const most = databaseMs - sentAtMs;
    const least = databaseMs - nowMs;
    if (isFromPeer && Math.abs(most - this.#aheadMs) > MAX_PEER_JUMP_MS) return;
    const isBetter = most < this.#aheadMs || least > this.#aheadMs || nowMs - this.#readAtMs > VALID_MS;
    if (!isBetter) return;
    this.#aheadMs = most;
    this.#readAtMs = nowMs;
  }
}

/** Logins, certificates and log lines of nodes are compared by people and programs; leases use the database's clock. */
const MAX_SKEW_MS = 5_000;
const COMPARE_EVERY_MS = 10_000;

type Compared = Pick<Membership, 'nowMs' | 'setProblem'>;

/** Reports from now on when the clock of this machine differs from the database's clock. */
export function watchClockSkew(membership: Compared, clock: Clock): { stop(): void } {
  compareClocks(membership, clock);
  const timer = setInterval(() => compareClocks(membership, clock), COMPARE_EVERY_MS).unref();
  return { stop: () => clearInterval(timer) };
}

function compareClocks(membership: Compared, clock: Clock): void {
  const skewMs = clock.nowMs() - membership.nowMs();
  const isWrong = Math.abs(skewMs) > MAX_SKEW_MS;
  membership.setProblem('clock', isWrong ? nodeFindings.found('clock_differs', { skewMs }) : null);
}
