import { HOP_BY_HOP } from '../http/header-values.ts';

/** How a header must be treated before it is forwarded. */
type HeaderKind =
  | 'end-to-end'
  | 'content-length'
  | 'transfer-encoding'
  | 'connection'
  | 'keep-alive'
  | 'upgrade'
  /** Specific to this connection (RFC 9110 §7.6.1): never forwarded. */
  | 'hop-by-hop'
  | 'www-authenticate';

export interface HeaderName {
  /** In lower case. */
  readonly name: string;
  readonly kind: HeaderKind;
}

const SPECIAL: Readonly<Record<string, HeaderKind>> = {
  ...Object.fromEntries(HOP_BY_HOP.map((name) => [name, 'hop-by-hop' as const])),
  'content-length': 'content-length',
  'transfer-encoding': 'transfer-encoding',
  connection: 'connection',
  'keep-alive': 'keep-alive',
  upgrade: 'upgrade',
  'www-authenticate': 'www-authenticate',
};

/** In lower case. */
export const COMMON_NAMES: readonly string[] =
  `accept accept-encoding accept-language accept-ranges access-control-allow-credentials
access-control-allow-headers access-control-allow-methods access-control-allow-origin access-control-expose-headers
access-control-max-age access-control-request-headers access-control-request-method age allow alt-svc authorization
cache-control content-disposition content-encoding content-language content-location content-range
content-security-policy content-type cookie cross-origin-opener-policy cross-origin-resource-policy date dnt etag expect
expires forwarded host if-match if-modified-since if-none-match if-range last-modified link location origin pragma
priority range referer referrer-policy retry-after sec-ch-ua sec-ch-ua-mobile sec-ch-ua-platform sec-fetch-dest
sec-fetch-mode sec-fetch-site sec-fetch-user sec-websocket-extensions sec-websocket-key sec-websocket-protocol
sec-websocket-version server set-cookie strict-transport-security traceparent tracestate upgrade-insecure-requests
user-agent vary via x-content-type-options x-forwarded-for x-forwarded-host x-forwarded-proto x-frame-options
x-powered-by x-real-ip x-request-id x-requested-with x-xss-protection`.split(/\s+/);

/** Spellings that need neither a check nor a new string: lower case, Capital-Case, and `ETag`. */
const KNOWN: ReadonlyMap<string, HeaderName> = new Map(
  [...Object.keys(SPECIAL), ...COMMON_NAMES].flatMap((name) => {
    const known: HeaderName = { name, kind: kindOf(name) };
    const capital = name.replace(/\b[a-z]/g, (letter) => letter.toUpperCase());
    const spellings = name === 'etag' ? [name, capital, 'ETag'] : [name, capital];
    return spellings.map((spelling) => [spelling, known] as const);
  }),
);

/** RFC 9110 §5.6.2. Underscores are allowed here: an upstream may name its headers as it likes. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

export function isToken(text: string): boolean {
  return TOKEN.test(text);
}

/** Null when it is not a token: a space before the colon, a folded line, an empty name. */
export function headerName(raw: string): HeaderName | null {
  const known = KNOWN.get(raw);
  if (known !== undefined) return known;
  if (!isToken(raw)) return null;
  const name = raw.toLowerCase();
  return KNOWN.get(name) ?? { name, kind: 'end-to-end' };
}

function kindOf(name: string): HeaderKind {
  return Object.hasOwn(SPECIAL, name) ? (SPECIAL[name] as HeaderKind) : 'end-to-end';
}

/**
 * Dropped from trailers: framing, routing, authentication, and fields that decide how content is interpreted or cached
 * (RFC 9110 §6.5.1). A later reader may merge trailers into the headers, and must not be able to change any of these.
 */
const FORBIDDEN_IN_TRAILERS: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP,
  ...`content-length host forwarded x-forwarded-for x-forwarded-host x-forwarded-proto authorization proxy-authorization www-authenticate proxy-authenticate cookie set-cookie
content-encoding content-type content-range cache-control expires vary age location range expect max-forwards
if-match if-none-match if-modified-since if-unmodified-since if-range`.split(/\s+/),
]);

export function isAllowedInTrailers(name: string): boolean {
  return !FORBIDDEN_IN_TRAILERS.has(name) && !name.startsWith(':');
}

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
 * White space by RFC 9110 §5.5, but llhttp and others then do not see that the body is chunked. Two readers that
 * disagree about the end of a body are how requests are smuggled.
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

/**
 * No leading zero, sign or list (RFC 9112 §6.3 lets a recipient repair lists; two parsers that repair differently allow
 * request smuggling).
 */
const CONTENT_LENGTH = /^(?:0|[1-9][0-9]{0,15})$/;
/** A challenge that authenticates the connection, not the request (RFC 4559 §6; MS-NTHT). */
const CONNECTION_AUTH = /(?:^|[\s,])(?:ntlm|negotiate)(?:[\s,]|$)/i;

/**
 * The fields of one head or trailer section. One instance per connection, refilled for each block. Only `headers` is
 * allocated each time, because it is passed on.
 */
export class Http1HeaderBlock extends FieldLines {
  /** Headers to forward: flat, names in lower case, without hop-by-hop and framing. */
  headers: string[] = [];
  /** -1 when absent. */
  contentLength = -1;
  isChunked = false;
  hasClose = false;
  hasKeepAlive = false;
  /** From `Keep-Alive: timeout=5`; -1 when absent. */
  keepAliveSeconds = -1;
  upgrade = '';
  hasConnectionAuth = false;
  #namedByConnection: Set<string> | null = null;

  /** Parses the lines of `text` between `at` and `end`, each with its CRLF. Returns the problem, or null. */
  parse(text: string, at: number, end: number, maxHeaderCount: number): string | null {
    this.#reset();
    const problem = this.parseLines(text, at, end, maxHeaderCount);
    if (problem !== null) return problem;
    if (this.contentLength !== -1 && this.isChunked) return 'both Content-Length and Transfer-Encoding';
    if (this.#namedByConnection !== null) this.#dropNamed(this.#namedByConnection);
    return null;
  }

  #reset(): void {
    this.headers = [];
    this.contentLength = -1;
    this.isChunked = false;
    this.hasClose = false;
    this.hasKeepAlive = false;
    this.keepAliveSeconds = -1;
    this.upgrade = '';
    this.hasConnectionAuth = false;
    this.#namedByConnection = null;
  }

  protected override field(found: HeaderName, value: string): string | null {
    return found.kind === 'end-to-end' ? this.#keep(found.name, value) : this.#note(found, value);
  }

  #keep(name: string, value: string): null {
    this.headers.push(name, value);
    return null;
  }

  #note(found: HeaderName, value: string): string | null {
    switch (found.kind) {
      case 'content-length':
        if (this.contentLength !== -1) return 'more than one Content-Length';
        if (!CONTENT_LENGTH.test(value)) return 'a malformed Content-Length';
        this.contentLength = Number(value);
        return Number.isSafeInteger(this.contentLength) ? null : 'a Content-Length too large';
      case 'transfer-encoding':
        // Any list, other coding, odd case or second line is rejected: no other parser may read the framing
        // differently.
        if (this.isChunked || value !== 'chunked') return 'a Transfer-Encoding other than "chunked"';
        this.isChunked = true;
        return null;
      case 'connection':
        this.#noteConnection(value);
        return null;
      case 'keep-alive':
        this.keepAliveSeconds = keepAliveSeconds(value);
        return null;
      case 'upgrade':
        this.upgrade = this.upgrade === '' ? value : `${this.upgrade}, ${value}`;
        return null;
      case 'www-authenticate':
        if (CONNECTION_AUTH.test(value)) this.hasConnectionAuth = true;
        return this.#keep(found.name, value);
      case 'hop-by-hop':
      case 'end-to-end':
        return null;
    }
  }

  #noteConnection(value: string): void {
    if (value === 'keep-alive') {
      this.hasKeepAlive = true;
      return;
    }
    for (const option of value.toLowerCase().split(',')) {
      const name = option.trim();
      if (name === 'close') this.hasClose = true;
      else if (name === 'keep-alive') this.hasKeepAlive = true;
      else if (name !== '') {
        this.#namedByConnection ??= new Set();
        this.#namedByConnection.add(name);
      }
    }
  }

  /** RFC 9110 §7.6.1: headers named by Connection are for this hop only. */
  #dropNamed(named: ReadonlySet<string>): void {
    const { headers } = this;
    const kept: string[] = [];
    for (let i = 0; i < headers.length; i += 2) {
      const name = headers[i] ?? '';
      if (!named.has(name)) kept.push(name, headers[i + 1] ?? '');
    }
    this.headers = kept;
  }
}

function keepAliveSeconds(value: string): number {
  const found = /(?:^|[\s,])timeout=([0-9]{1,6})(?:[\s,]|$)/i.exec(value);
  return found === null ? -1 : Number(found[1]);
}
