const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** Milliseconds of a duration such as "90s", "12h" or "7d"; null unless it is one. */
export function durationMs(text: string): number | null {
  const [, count, unit = ''] = /^(\d{1,6})([smhdw])$/.exec(text) ?? [];
  return count === undefined ? null : Number(count) * (UNIT_MS[unit] ?? 0);
}
