export type Params = Readonly<Record<string, string>>;

/** `/edges/:edge_id` against `/edges/edghts_1`; null if it does not match. */
export function matchPath(pattern: string, path: string): Params | null {
  const expected = pattern.split('/');
  const found = path.split('/');
  if (expected.length !== found.length) return null;
  const params: Record<string, string> = {};
  for (const [index, part] of expected.entries()) {
    const value = found[index] ?? '';
    if (part.startsWith(':')) params[part.slice(1)] = decodeSegment(value);
    else if (part !== value) return null;
  }
  return params;
}

function decodeSegment(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
