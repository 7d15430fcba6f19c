/**
 * A text in header-safe form: everything but printable ASCII, and the percent sign, is percent-encoded as UTF-8, so
 * that no claim ends a line and `decodeURIComponent` always restores the text. So are spaces at the ends: a reader
 * would trim them, and take one user for another.
 */
export function headerText(text: string): string {
  const encoded = text.toWellFormed().replaceAll(/[^\x20-\x24\x26-\x7e]+/gu, encodeURIComponent);
  // By index: `/ +$/` takes quadratic time.
  let start = 0;
  let end = encoded.length;
  while (encoded[start] === ' ') start += 1;
  while (end > start && encoded[end - 1] === ' ') end -= 1;
  return '%20'.repeat(start) + encoded.slice(start, end) + '%20'.repeat(encoded.length - end);
}
