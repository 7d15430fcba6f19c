/** Longest chunk-size line: sixteen digits would exceed a safe integer; the rest is for extensions. */
export const MAX_CHUNK_LINE_BYTES = 512;

const SIZE_DIGITS = /^[0-9A-Fa-f]{1,13}/;
/**
 * RFC 9112 §7.1.1 without its optional white space, which parsers have interpreted differently often enough to enable
 * smuggling. Extensions are validated, counted and ignored.
 */
const EXTENSIONS =
  /^(?:;[!#$%&'*+\-.^_`|~0-9A-Za-z]+(?:=(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+|"(?:[\t !#-[\]-~\x80-\xff]|\\[\t -~\x80-\xff])*"))?)+$/;

/** The size announced by a line (with its CRLF), or -1 when it is malformed. */
export function chunkSize(line: string): number {
  const end = line.length - 2;
  // The line ends at its first LF: without this check a bare LF would end it too.
  if (end < 1 || line[end] !== '\r') return -1;
  const digits = SIZE_DIGITS.exec(line)?.[0];
  if (digits === undefined) return -1;
  if (digits.length < end && !EXTENSIONS.test(line.slice(digits.length, end))) return -1;
  return Number.parseInt(digits, 16);
}
