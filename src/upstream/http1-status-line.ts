import { type CarriedBytes, unfinishedLinesProblem } from '../lib/http1/carried-bytes.ts';

/** RFC 9112 §4. The space before an absent reason phrase is often omitted; everything else is exact. */
const STATUS_LINE = /^HTTP\/1\.[01] [1-9][0-9]{2}(?: [\t\x20-\x7e\x80-\xff]*)?\r\n/;
const BEGINNING = 'HTTP/1.';
const ORDINARY = 'HTTP/1.1 200 OK\r\n';
/** Where the header lines begin, or -1 when the status line is malformed. */
export function statusLineEnd(head: string): number {
  if (head.startsWith(ORDINARY)) return ORDINARY.length;
  return STATUS_LINE.exec(head)?.[0].length ?? -1;
}

export function statusOf(head: string): number {
  return (head.charCodeAt(9) - 48) * 100 + (head.charCodeAt(10) - 48) * 10 + head.charCodeAt(11) - 48;
}

/** Finds errors in a head that has not ended yet; `from` is the end of the part already checked. */
export function unfinishedHeadProblem(carried: CarriedBytes, from: number): string | null {
  if (from < BEGINNING.length) {
    const start = carried.peek(0).slice(0, BEGINNING.length);
    if (!BEGINNING.startsWith(start)) return 'a malformed status line';
  }
  return unfinishedLinesProblem(carried, from);
}
