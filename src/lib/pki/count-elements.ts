import { DER, DerCursor, DerProblem } from './der-cursor.ts';

/** Set in the tag of an element that consists of elements. */
const CONSTRUCTED = 0x20;

/**
 * Number of DER elements, at every depth and in octet strings too, as those of extensions. Stops above `limit`. Flat:
 * recursion would overflow the stack at 40,000 levels, which have 160 KB. Throws DerProblem.
 */
export function countElements(bytes: Buffer, limit: number): number {
  const cursor = new DerCursor(bytes);
  let count = 0;
  while (count <= limit) {
    const isInOctets = cursor.end < bytes.length;
    if (cursor.isAtEnd) {
      if (!isInOctets) break;
      cursor.end = bytes.length;
      continue;
    }
    try {
      const tag = cursor.nextTag;
      cursor.read(tag);
      count += 1;
      const isNested = !isInOctets && tag === DER.octetString && bytes[cursor.from] === DER.sequence;
      if (isNested) cursor.end = cursor.to;
      if (isNested || (tag & CONSTRUCTED) !== 0) cursor.at = cursor.from;
    } catch (error) {
      // The contents of an octet string may be anything.
      if (!(error instanceof DerProblem) || !isInOctets) throw error;
      cursor.at = cursor.end;
    }
  }
  return count;
}
