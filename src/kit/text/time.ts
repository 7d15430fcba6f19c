const UNIT_MS = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000, ms: 1 } as const;
const FORM = /^(?:(\d{1,9})d)?(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9})s)?(?:(\d{1,9})ms)?$/;

/** Units of a number that is written without one. */
const BARE_UNITS = { seconds: UNIT_MS.s, hours: UNIT_MS.h, days: UNIT_MS.d } as const;
export type BareUnit = keyof typeof BARE_UNITS;

export interface DurationRule {
  /** That bare numbers have, and the result. */
  readonly unit: BareUnit;
  /** Both in that unit. */
  readonly minimum: number;
  readonly maximum: number;
  /** Whether parts of the unit are possible, such as 250ms of seconds. */
  readonly hasFractions?: boolean;
}

/** A duration in the unit of the rule: a bare number, or `90s`, `1h30m`, `14d`. Undefined for anything else. */
export function readDuration(value: unknown, { unit, minimum, maximum, hasFractions = false }: DurationRule) {
  const given = typeof value === 'string' ? (bareNumber(value) ?? inUnit(value, unit)) : value;
  if (typeof given !== 'number' || !(given >= minimum && given <= maximum)) return undefined;
  return Number.isInteger(given) || hasFractions ? given : undefined;
}

/** What `readDuration` accepts, phrased to follow "allowed:" and "takes". */
export function durationForm({ unit, minimum, maximum, hasFractions = false }: DurationRule): string {
  const [least, most] = [durationText(minimum, unit), durationText(maximum, unit)];
  const example = { seconds: hasFractions ? '90s, 1h30m or 250ms' : '90s or 1h30m', hours: '36h or 14d', days: '14d' };
  const steps = hasFractions ? '' : ` in whole ${unit}`;
  return `a duration from ${least} to ${most}${steps}, such as ${example[unit]}; a number without a unit is in ${unit}`;
}

/** With the largest unit that leaves a whole number: 7d, 90m, 250ms. Hours stay hours. */
export function durationText(value: number, unit: BareUnit): string {
  const ms = Math.round(value * BARE_UNITS[unit]);
  if (ms === 0) return '0';
  const [name, size] = Object.entries(UNIT_MS).find(
    ([other, each]) => ms % each === 0 && !(unit === 'hours' && other === 'd'),
  ) ?? ['ms', 1];
  return `${ms / size}${name}`;
}

/** Milliseconds; null for another form. Larger units come first, and each at most once. */
export function durationMs(text: string): number | null {
  const counts = FORM.exec(text)?.slice(1);
  if (counts === undefined || text === '') return null;
  return Object.values(UNIT_MS).reduce((sum, each, index) => sum + each * Number(counts[index] ?? 0), 0);
}

function bareNumber(text: string): number | null {
  return /^\d{1,15}(?:\.\d{1,3})?$/.test(text) ? Number(text) : null;
}

function inUnit(text: string, unit: BareUnit): number | null {
  const ms = durationMs(text);
  return ms === null ? null : ms / BARE_UNITS[unit];
}

const RFC_3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$/;

/**
 * Milliseconds of a time such as "2026-11-20T18:00:00Z"; null for everything else, also for a day that does not exist.
 */
export function parseRfc3339(text: string): number | null {
  const parts = RFC_3339.exec(text);
  if (parts === null) return null;
  const [year, month, day] = parts.slice(1, 4).map(Number) as [number, number, number];
  // `Date.parse` reads February 30 as March 2.
  if (month < 1 || month > 12 || day < 1 || day > new Date(Date.UTC(year, month, 0)).getUTCDate()) return null;
  const ms = Date.parse(text.toUpperCase());
  return Number.isNaN(ms) ? null : ms;
}

/** For messages. */
export const RFC3339_FORM =
  'a date and a time with "Z" or an offset, such as 2027-01-31T18:00:00Z or 2027-01-31T18:00:00+01:00 (RFC 3339)';
