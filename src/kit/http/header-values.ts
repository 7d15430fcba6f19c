/** RFC 6750 §2.1: b64token. */
const B64TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;
/** RFC 9110 §11.1: the scheme is case-insensitive. A tab is no separator, but recipients exist that accept it. */
const BEARER = /^bearer(?:([ \t]+)(.*))?$/i;

interface BearerCredentials {
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

/** Whether a header such as `Accept-Encoding` names the value itself, and not with `q=0`. Wildcards do not count. */
export function accepts(header: string | undefined, value: string): boolean {
  return (header ?? '').split(',').some((item) => {
    const [name = '', ...parameters] = item.split(';').map((part) => part.trim().toLowerCase());
    return name === value && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}

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

/** A week is the longest rate limit of public servers; anything beyond a month would be a mistake. */
const MAX_MS = 31 * 24 * 60 * 60 * 1000;

/** Retry-After (RFC 9110 §10.2.3): seconds, or a date. Null when it is absent or unreadable. */
export function retryAtMs(value: string | null, nowMs: number): number | null {
  if (value === null) return null;
  const text = value.trim();
  const ms = /^\d{1,9}$/.test(text) ? nowMs + Number(text) * 1000 : httpDateMs(text);
  return ms === null ? null : Math.min(Math.max(ms, nowMs), nowMs + MAX_MS);
}

/** Only the form that RFC 9110 §5.6.7 requires: `Date.parse` also accepts bare numbers. Null for anything else. */
export function httpDateMs(text: string): number | null {
  if (!/^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(text)) return null;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? null : ms;
}

/**
 * Flat: `[name, value, name, value, …]`, names in lower case, because headers arrive from the wire and leave to it in
 * this form. Framing (`content-length`, `transfer-encoding`, `connection`) is never included: the part that writes them
 * computes it.
 */
export type HeaderList = readonly string[];

export function pairsOf(list: HeaderList): [string, string][] {
  const pairs: [string, string][] = [];
  for (let at = 0; at < list.length; at += 2) pairs.push([list[at] as string, list[at + 1] as string]);
  return pairs;
}

export function firstValue(list: HeaderList, name: string): string | undefined {
  for (let at = 0; at < list.length; at += 2) if (list[at] === name) return list[at + 1];
  return undefined;
}

const NONE: readonly string[] = [];

/** All values of a header, line by line. */
export function valuesOf(list: HeaderList, name: string): readonly string[] {
  let values: string[] | null = null;
  for (let at = 0; at < list.length; at += 2) {
    if (list[at] !== name) continue;
    if (values === null) values = [list[at + 1] as string];
    else values.push(list[at + 1] as string);
  }
  return values ?? NONE;
}

/** All values of a list header, combined as if sent in one line (RFC 9110 §5.3). */
export function combinedValue(list: HeaderList, name: string): string | undefined {
  let combined: string | undefined;
  for (let at = 0; at < list.length; at += 2) {
    if (list[at] === name) combined = combined === undefined ? list[at + 1] : `${combined}, ${list[at + 1]}`;
  }
  return combined;
}

/** Values may be names of other headers: a search in the whole list would find them. */
export function withoutHeader(list: HeaderList, name: string): string[] {
  return list.filter((_, at) => list[at - (at % 2)] !== name);
}

/**
 * Headers that describe one connection (RFC 9110 §7.6.1, and RFC 7540 §3.2.1 for `http2-settings`): never forwarded as
 * received. Connection can name more; the parser of a head drops those too.
 */
export const HOP_BY_HOP: readonly string[] = [
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];
