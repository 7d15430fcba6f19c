import { firstValue, type HeaderList } from '../../lib/http/header-values.ts';

export const NO_HEADERS: HeaderList = [];

/** Adds the edge's own header (name and value) to a response that does not have it: two would contradict each other. */
export function withOwnHeader(headers: HeaderList, own: HeaderList): HeaderList {
  const [name] = own;
  return name === undefined || firstValue(headers, name) !== undefined ? headers : [...headers, ...own];
}
