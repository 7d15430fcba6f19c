import { invalidBody } from '../errors.ts';

const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000 } as const;
const MAX_MS = 24 * UNIT_MS.h;

/** Milliseconds of a duration such as "90s", "5m" or "1h". Its schema has checked the form. */
export function confirmWithinMs(text: string): number {
  const ms = Number(text.slice(0, -1)) * UNIT_MS[text.slice(-1) as keyof typeof UNIT_MS];
  if (ms >= UNIT_MS.s && ms <= MAX_MS) return ms;
  throw invalidBody([{ path: '/confirm_within', message: 'must be from "1s" to "24h"' }]);
}
