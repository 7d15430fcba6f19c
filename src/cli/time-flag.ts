import { usage } from '../lib/flags.ts';
import { type DurationRule, durationForm, durationMs, readDuration } from '../lib/text/duration.ts';

/** The value of a flag that takes a duration before now, or a time. */
export function timeFlag(flag: string, value: string): string {
  const ms = durationMs(value);
  if (ms !== null && ms <= Date.now()) return new Date(Date.now() - ms).toISOString();
  if (/^\d{4}-\d{2}-\d{2}T/.test(value)) return value;
  throw usage(`--${flag} takes a duration such as 30d or 1h30m, or a time such as 2026-11-01T00:00:00Z`);
}

/** The value of a flag that takes a duration, in the unit of the rule. */
export function durationFlag(flag: string, value: string, rule: DurationRule): number {
  const duration = readDuration(value, rule);
  if (duration !== undefined) return duration;
  throw usage(`--${flag} takes ${durationForm(rule)}; it is ${JSON.stringify(value.slice(0, 40))}`);
}
