import type { ServerResponse } from 'node:http';

/** The value of Vary with another header, when the response already varies on some. */
export function varyOn(response: ServerResponse, header: string): string {
  const before = response.getHeader('vary');
  return before === undefined ? header : `${String(before)}, ${header}`;
}
