import { type HeaderName, headerName } from './header-names.ts';

/** Bytes of a field value: VCHAR, obs-text, space and tab (RFC 9110 §5.5). No DEL, no other control character. */
const IS_VALUE_BYTE = Uint8Array.from({ length: 256 }, (_, code) =>
  code === 9 || (code >= 32 && code !== 127) ? 1 : 0,
);
const CR = 13;
const LF = 10;
const SPACE = 32;
const TAB = 9;

/** The only problem of fields that is about their number. */
export const TOO_MANY_FIELDS = 'too many headers';

/** Parses field lines (RFC 9112 §5) strictly: no folding, no space before the colon, no bare CR or LF. */
export abstract class FieldLines {
  /** A field, in order. Returns the problem, or null. */
  protected abstract field(found: HeaderName, value: string): string | null;

  /** Parses the lines of `text` between `at` and `end`, each with its CRLF. Returns the problem, or null. */
  protected parseLines(text: string, at: number, end: number, maxCount: number): string | null {
    let position = at;
    let count = 0;
    while (position < end) {
      count += 1;
      if (count > maxCount) return TOO_MANY_FIELDS;
      const colon = text.indexOf(':', position);
      if (colon === -1) return 'a header line without a colon';
      const found = headerName(text.substring(position, colon));
      if (found === null) return 'a malformed header name';
      let last = colon + 1;
      while (last < end && IS_VALUE_BYTE[text.charCodeAt(last)] === 1) last += 1;
      if (text.charCodeAt(last) !== CR || text.charCodeAt(last + 1) !== LF) return 'a forbidden byte in a header value';
      position = last + 2;
      if (found.kind === 'transfer-encoding' && hasTabBehind(text.substring(colon + 1, last)))
        return 'a tab behind the value of Transfer-Encoding';
      const problem = this.field(found, trimmed(text, colon + 1, last));
      if (problem !== null) return problem;
    }
    return null;
  }
}

/**
 * White space by RFC 9110 §5.5, but llhttp and others then do not see that the body is chunked. Two readers that disagree
 * about the end of a body are how requests are smuggled.
 */
function hasTabBehind(value: string): boolean {
  return value.slice(value.trimEnd().length).includes('\t');
}

/** Optional white space around a value is not part of it (RFC 9110 §5.5). */
function trimmed(text: string, from: number, to: number): string {
  let start = from;
  let end = to;
  while (start < end && isBlank(text.charCodeAt(start))) start += 1;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end -= 1;
  return text.substring(start, end);
}

function isBlank(code: number): boolean {
  return code === SPACE || code === TAB;
}
