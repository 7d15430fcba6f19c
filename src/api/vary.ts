import type { ServerResponse } from 'node:http';

/** The value of Vary with these headers, and those on which the response varies already. */
export function varyOn(response: ServerResponse, headers: string): string {
  const before = response.getHeader('vary');
  if (before === undefined) return headers;
  return [...new Set([...namesIn(String(before)), ...namesIn(headers)])].join(', ');
}

function namesIn(list: string): readonly string[] {
  return list.split(',').map((name) => name.trim());
}
