import type { CarriedBytes } from './carried-bytes.ts';

/** Looks only at a character and its predecessor, so that pieces can be checked one after the other. */
const WRONG_BYTE = /[^\t\r\n\x20-\x7e\x80-\xff]|(?<=\r)[^\n]|(?<!\r)\n/g;

/** Finds errors in lines that have not ended yet; `from` is the end of the part already checked. */
export function unfinishedLinesProblem(carried: CarriedBytes, from: number): string | null {
  const overlap = from > 0 ? 1 : 0;
  WRONG_BYTE.lastIndex = overlap;
  return WRONG_BYTE.test(carried.peek(from - overlap)) ? 'a forbidden byte in the headers' : null;
}
