/** A week is the longest rate limit of public servers; anything beyond a month would be a mistake. */
const MAX_MS = 31 * 24 * 60 * 60 * 1000;

/** Retry-After (RFC 9110 §10.2.3): seconds, or a date. Null when it is absent or unreadable. */
export function retryAtMs(value: string | null, nowMs: number): number | null {
  if (value === null) return null;
  const text = value.trim();
  const ms = /^\d{1,9}$/.test(text) ? nowMs + Number(text) * 1000 : dateMs(text);
  return ms === null ? null : Math.min(Math.max(ms, nowMs), nowMs + MAX_MS);
}

/** Only the form that RFC 9110 requires: `Date.parse` also accepts bare numbers. */
function dateMs(text: string): number | null {
  if (!/^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(text)) return null;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? null : ms;
}
