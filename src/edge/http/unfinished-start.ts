import { METHODS } from '../../lib/http/node-http.ts';
import { type CarriedBytes, unfinishedLinesProblem } from '../../lib/http1/carried-bytes.ts';

const LONGEST_METHOD = Math.max(...METHODS.map(({ length }) => length));

/**
 * Whether the beginning of a request is malformed; `from` is the end of the part already checked. Detected at once, not
 * after a timeout: a head with bare LFs, or of another protocol, would never end.
 */
export function unfinishedStartProblem(carried: CarriedBytes, from: number): boolean {
  if (from <= LONGEST_METHOD + 2 && !startsLikeMethod(carried.peek(0).replace(/^\r\n/, ''))) return true;
  return unfinishedLinesProblem(carried, from) !== null;
}

function startsLikeMethod(text: string): boolean {
  if (text === '' || text === '\r') return true;
  const start = text.slice(0, LONGEST_METHOD + 1);
  return METHODS.some((method) => `${method} `.startsWith(start) || start.startsWith(`${method} `));
}
