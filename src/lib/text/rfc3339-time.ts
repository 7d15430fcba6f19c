const RFC_3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$/;

/** Milliseconds of a time such as "2026-11-20T18:00:00Z"; null for everything else, also for a day that does not exist. */
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
