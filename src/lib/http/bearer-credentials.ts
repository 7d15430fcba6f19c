/** RFC 6750 §2.1: b64token. */
const B64TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;
/** RFC 9110 §11.1: the scheme is case-insensitive. A tab is no separator, but recipients exist that accept it. */
const BEARER = /^bearer(?:([ \t]+)(.*))?$/i;

export interface BearerCredentials {
  /** Empty when the scheme stands alone. */
  readonly token: string;
  /** Whether the field has exactly the form of RFC 6750, in one line. */
  readonly isWellFormed: boolean;
}

/** The bearer token in the lines of Authorization fields; null when none of them has one. */
export function bearerCredentials(lines: readonly string[]): BearerCredentials | null {
  for (const line of lines) {
    const [found, separator = '', token = ''] = BEARER.exec(line) ?? [];
    if (found === undefined) continue;
    const isWellFormed = lines.length === 1 && !separator.includes('\t') && B64TOKEN.test(token);
    return { token, isWellFormed };
  }
  return null;
}
