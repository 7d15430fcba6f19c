import type { HeaderList } from '../../lib/header-list.ts';

export const NO_HEADERS: HeaderList = [];

/** Adds the edge's own header (name and value) to a response that does not have it: two would contradict each other. */
export function withOwnHeader(headers: HeaderList, own: HeaderList): HeaderList {
  const [name] = own;
  if (name === undefined) return headers;
  for (let at = 0; at < headers.length; at += 2) if (headers[at] === name) return headers;
  return [...headers, ...own];
}
