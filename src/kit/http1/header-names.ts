import { HOP_BY_HOP } from '../http/header-values.ts';

/** How a header must be treated before it is forwarded. */
export type HeaderKind =
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
