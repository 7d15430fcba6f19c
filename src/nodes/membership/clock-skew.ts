import type { Clock } from '../../lib/clock.ts';
import type { Membership } from './membership.ts';

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
  const seconds = Math.round(Math.abs(skewMs) / 1_000);
  const text = `the clock of this node is ${seconds} seconds ${skewMs > 0 ? 'ahead of' : 'behind'} the database's`;
  membership.setProblem('clock', Math.abs(skewMs) > MAX_SKEW_MS ? text : null);
}
