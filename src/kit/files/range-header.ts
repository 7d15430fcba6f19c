/**
 * The part of a body that is wanted: `whole`, or from `start` up to and including `end`; `none`: there is no such part.
 */
export type WantedRange = 'whole' | 'none' | { readonly start: number; readonly end: number };

/**
 * One range only: RFC 9110 §14.2 allows to ignore the rest, and many small ranges cost the server much (CVE-2011-3192).
 */
const ONE_RANGE = /^bytes=[ \t]*(?:(\d{1,15})-(\d{0,15})|-(\d{1,15}))[ \t]*$/i;

/**
 * Reads a Range header (RFC 9110 §14.1.2). A malformed one, another unit and several ranges ask for the whole body.
 */
export function wantedRange(header: string | undefined, size: number): WantedRange {
  if (header === undefined || size === 0) return 'whole';
  const found = ONE_RANGE.exec(header);
  if (found === null) return 'whole';
  const [, first, last = '', suffix] = found;
  if (suffix !== undefined) {
    const length = Math.min(Number(suffix), size);
    return length === 0 ? 'none' : { start: size - length, end: size - 1 };
  }
  const start = Number(first);
  if (last !== '' && Number(last) < start) return 'whole';
  if (start >= size) return 'none';
  return { start, end: last === '' ? size - 1 : Math.min(Number(last), size - 1) };
}
