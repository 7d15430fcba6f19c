const numbered = new Map<string, string>();
const MAX_CACHED_TEXTS = 1_000;

/** `?` → `$1`, `$2`, …; the store's SQL contains no other question mark. */
export function numberPlaceholders(sql: string): string {
  const known = numbered.get(sql);
  if (known !== undefined) return known;
  let count = 0;
  const result = sql.replaceAll('?', () => {
    count += 1;
    return `$${count}`;
  });
  if (numbered.size < MAX_CACHED_TEXTS) numbered.set(sql, result);
  return result;
}
