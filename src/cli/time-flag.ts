import { usage } from '../lib/flags.ts';

const UNITS_MS: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000 };

/** The value of a flag that takes a duration before now, or a time. */
export function timeFlag(flag: string, value: string): string {
  const [, count = '', unit = ''] = /^(\d{1,6})([dhm])$/.exec(value) ?? [];
  const ms = UNITS_MS[unit];
  if (ms !== undefined) return new Date(Date.now() - Number(count) * ms).toISOString();
  if (/^\d{4}-\d{2}-\d{2}T/.test(value)) return value;
  throw usage(`--${flag} takes a duration such as 30d or 12h, or a time such as 2026-11-01T00:00:00Z`);
}
