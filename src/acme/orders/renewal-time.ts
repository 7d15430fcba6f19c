import type { RenewalWindow } from '../client/renewal-info.ts';

export interface Lifetime {
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

/** The latest renewal, as a part of the life: after this, a failing server would leave no time. */
const LATEST = 0.9;
const SOONEST_MS = 60 * 60 * 1000;
const SHORTEST_MS = 60 * 1000;

/** Without renewal information: at two thirds of the life. */
export function defaultRenewalMs({ notBeforeMs, notAfterMs }: Lifetime): number {
  return Math.round(notBeforeMs + ((notAfterMs - notBeforeMs) * 2) / 3);
}

/**
 * A new certificate is kept for this time. A server whose window is always over, or whose certificates are nearly over,
 * would otherwise be sent one order after the other.
 */
export function earliestRenewalMs({ notAfterMs }: Pick<Lifetime, 'notAfterMs'>, nowMs: number): number {
  return Math.round(nowMs + Math.max(Math.min((notAfterMs - nowMs) / 2, SOONEST_MS), SHORTEST_MS));
}

/** A random time in the server's window (RFC 9773 §4.2). A time chosen earlier is kept while it is inside. */
export function renewalInWindowMs(
  { startMs, endMs }: RenewalWindow,
  life: Lifetime,
  chosenMs: number | null,
  random: () => number,
): number {
  const latestMs = life.notBeforeMs + (life.notAfterMs - life.notBeforeMs) * LATEST;
  if (chosenMs !== null && chosenMs >= startMs && chosenMs <= endMs) return Math.min(chosenMs, latestMs);
  return Math.round(Math.min(startMs + (endMs - startMs) * random(), latestMs));
}
