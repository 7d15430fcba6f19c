const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const STEPS_MS = [MINUTE_MS, 5 * MINUTE_MS, 15 * MINUTE_MS, HOUR_MS, 6 * HOUR_MS, 24 * HOUR_MS];
const SPREAD = 0.2;

/** Wait after so many failures. Spread, so that names that failed together do not return together. */
export function backOffMs(attempts: number, random: () => number): number {
  const step = STEPS_MS[Math.min(Math.max(attempts, 1), STEPS_MS.length) - 1] as number;
  return Math.round(step * (1 - SPREAD + 2 * SPREAD * random()));
}
