const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z$/;

/** A time of the API as a person at a terminal reads it: `2026-11-19 18:05:09` in local time, or with a Z in UTC. Null: it is no time. */
export function timeText(text: string, isUtc: boolean): string | null {
  if (!TIME.test(text)) return null;
  const at = new Date(text);
  const shifted = isUtc ? at : new Date(at.getTime() - at.getTimezoneOffset() * 60_000);
  return `${shifted.toISOString().slice(0, 19).replace('T', ' ')}${isUtc ? 'Z' : ''}`;
}

/** To the minute: a cell of a table. */
export function minuteText(text: string, isUtc: boolean): string | null {
  return timeText(text, isUtc)?.replace(/:\d\d(Z?)$/, '$1') ?? null;
}
