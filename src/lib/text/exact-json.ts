const MANY_DIGITS = /\d{16}/;

/**
 * JSON.parse, but integers beyond 2^53 become their text. As numbers, different ones would be equal, which identifiers
 * must never be. The reviver is slow, so texts without a long number do without it.
 */
export function parseExactJson(text: string): unknown {
  return MANY_DIGITS.test(text) ? JSON.parse(text, exact) : JSON.parse(text);
}

function exact(_name: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || Math.abs(value) <= Number.MAX_SAFE_INTEGER) return value;
  return context?.source ?? String(value);
}
