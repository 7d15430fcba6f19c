import { parseRfc3339, RFC3339_FORM } from '../../../kit/text/time.ts';

export const MAX_DAYS = 90;
const MAX_MS = MAX_DAYS * 86_400_000;

/** What is wrong with the form of `expires_at`, or null. */
export function timeProblem(expiresAt: string): string | null {
  return parseRfc3339(expiresAt) === null ? `must be ${RFC3339_FORM}` : null;
}

/** What is wrong with a new `expires_at` now, or null. */
export function expiryProblem(expiresAt: string, nowMs: number): string | null {
  const ms = parseRfc3339(expiresAt) ?? Number.NaN;
  const latest = new Date(nowMs + MAX_MS).toISOString();
  if (!(ms > nowMs))
    return `must be in the future: write a time after ${new Date(nowMs).toISOString()} and not after ${latest}; to end a link now, delete it`;
  return ms - nowMs > MAX_MS ? `must be at most ${MAX_DAYS} days from now: write ${latest} or an earlier time` : null;
}
