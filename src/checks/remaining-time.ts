const DAY_MS = 86_400_000;
/** What expires earlier needs a successor. */
export const SOON_MS = 30 * DAY_MS;

export interface RemainingTime {
  readonly state: 'ended' | 'soon' | 'fine';
  /** `expired on 2026-01-31`, `expires on 2026-01-31 (12 days)`. */
  readonly words: string;
}

export function remainingTime(notAfterMs: number, nowMs: number): RemainingTime {
  const date = new Date(notAfterMs).toISOString().slice(0, 10);
  const days = Math.floor((notAfterMs - nowMs) / DAY_MS);
  if (notAfterMs <= nowMs) return { state: 'ended', words: `expired on ${date}` };
  return {
    state: notAfterMs - nowMs < SOON_MS ? 'soon' : 'fine',
    words: `expires on ${date} (${days} day${days === 1 ? '' : 's'})`,
  };
}
