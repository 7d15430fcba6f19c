import type { HeaderList } from '../../kit/http/header-values.ts';
import type { TrafficResponseHead } from '../contract/prepared-module.ts';

/**
 * How a response can be treated, for any client:
 * - `fixed`: the same for every client, as the upstream made it.
 * - `varies`: its body is unchanged, but the body of the same resource's 200 depends on Accept-Encoding, and caches
 *   must know.
 * - `compressible`: coded for clients that accept a coding.
 */
type Eligibility = 'fixed' | 'varies' | 'compressible';

/**
 * Smaller bodies are sent unchanged: with its head such a response fits into one TCP segment of about 1,400 bytes
 * either way, so that compression saves no time, and both sides save the work.
 */
export const MIN_BODY_BYTES = 1024;

export function eligibilityOf(method: string, head: TrafficResponseHead, facts: ResponseFacts): Eligibility {
  const { status, bodyBytes } = head;
  // 1xx are informational, 101 and a successful CONNECT switch protocols, 204 and 205 have no content (RFC 9110 §15.3).
  if (status < 200 || status === 204 || status === 205 || method === 'CONNECT') return 'fixed';
  if (facts.isEncoded || facts.hasNoTransform || facts.isSigned) return 'fixed';
  // A 304 must repeat the Vary of its 200 (RFC 9110 §15.4.5) but rarely states its type; a superfluous Vary costs a
  // cache little.
  if (status === 304)
    return facts.contentType === undefined || isCompressibleType(facts.contentType) ? 'varies' : 'fixed';
  if (!isCompressibleType(facts.contentType)) return 'fixed';
  // Positions in a part refer to the upstream's body (RFC 9110 §14.4).
  if (status === 206 || facts.hasContentRange) return 'varies';
  if (method === 'HEAD') return 'varies';
  if (bodyBytes !== null && bodyBytes < MIN_BODY_BYTES) return 'fixed';
  return 'compressible';
}

/**
 * Types that compress well, listed individually: other types are left alone. Images, video, audio, archives, PDF, WOFF
 * and WOFF2 are compressed by their own format, and `application/octet-stream` may be anything (mostly a compressed
 * download). Compressing them again wastes time, and a wrong guess about an unknown type costs every response of it.
 */
const NAMED: ReadonlySet<string> = new Set([
  'application/atom+xml',
  'application/ecmascript',
  'application/geo+json',
  'application/graphql',
  'application/javascript',
  'application/json',
  'application/jsonl',
  'application/manifest+json',
  // Legacy EOT, OpenType and TrueType are tables of plain numbers; WOFF is their compressed form.
  'application/vnd.ms-fontobject',
  'application/wasm',
  'application/x-javascript',
  'application/x-json-stream',
  'application/x-ndjson',
  'application/x-protobuf',
  'application/protobuf',
  'application/x-sh',
  'application/x-www-form-urlencoded',
  'application/x-yaml',
  'application/xml',
  'application/yaml',
  'application/sql',
  'application/toml',
  'application/cbor',
  'font/collection',
  'font/otf',
  'font/sfnt',
  'font/ttf',
  // Image formats without compression of their own.
  'image/bmp',
  'image/svg+xml',
  'image/vnd.microsoft.icon',
  'image/x-icon',
  'image/x-ms-bmp',
  'model/gltf+json',
]);

/** Structured syntaxes that are text (RFC 6839, RFC 9512), and CBOR, whose keys repeat like JSON's. */
const SUFFIX = /\+(?:json|xml|yaml|cbor|json-seq)$/;

/** For the value of a Content-Type; undefined when there is none: then the body is unknown and not compressed. */
export function isCompressibleType(contentType: string | undefined): boolean {
  if (contentType === undefined) return false;
  const type = mediaType(contentType);
  // gRPC compresses per message, and its clients treat a coding of the whole as a broken stream.
  if (type.startsWith('application/grpc')) return false;
  return type.startsWith('text/') || NAMED.has(type) || SUFFIX.test(type);
}

/** A type whose events must not be delayed: EventSource shows them one by one. */
export function isEventStream(contentType: string | undefined): boolean {
  return contentType !== undefined && mediaType(contentType) === 'text/event-stream';
}

function mediaType(contentType: string): string {
  const end = contentType.indexOf(';');
  return (end < 0 ? contentType : contentType.slice(0, end)).trim().toLowerCase();
}

/** Facts in a response's headers that decide whether it may be compressed. */
interface ResponseFacts {
  readonly contentType: string | undefined;
  /** A coding other than `identity` was already applied. */
  readonly isEncoded: boolean;
  readonly hasContentRange: boolean;
  readonly hasNoTransform: boolean;
  /** RFC 9421: the signature may cover what we would change. */
  readonly isSigned: boolean;
}

/** One pass over the headers: this runs for every response of the route. */
export function readFacts(headers: HeaderList): ResponseFacts {
  let contentType: string | undefined;
  let isEncoded = false;
  let hasContentRange = false;
  let hasNoTransform = false;
  let isSigned = false;
  for (let at = 0; at < headers.length; at += 2) {
    const value = headers[at + 1] ?? '';
    switch (headers[at] ?? '') {
      case 'content-type':
        contentType ??= value;
        break;
      case 'content-encoding':
        isEncoded ||= !/^[ \t]*(?:identity[ \t]*)?$/i.test(value);
        break;
      case 'content-range':
        hasContentRange = true;
        break;
      case 'cache-control':
        hasNoTransform ||= saysNoTransform(value);
        break;
      case 'signature-input':
        isSigned = true;
        break;
      default:
    }
  }
  return { contentType, isEncoded, hasContentRange, hasNoTransform, isSigned };
}

/**
 * RFC 9110 §7.7: the content of such a message must not change. Also matches the words inside a quoted list; that costs
 * only a compression.
 */
export function saysNoTransform(cacheControl: string | undefined): boolean {
  return cacheControl !== undefined && /(?:^|,)[ \t]*no-transform[ \t]*(?:,|$)/i.test(cacheControl);
}

/** Supported content codings, in order of preference when a client accepts several equally. */
export const CODINGS = ['zstd', 'br', 'gzip', 'deflate'] as const;

export type Coding = (typeof CODINGS)[number];

/** RFC 9110 §12.4.2: at most three decimals. */
const WEIGHT = /^q=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)$/i;
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;

/**
 * The coding for a client (RFC 9110 §12.5.3), null for none.
 *
 * Where the RFC leaves room, the result is what every client understands, no coding:
 * - A missing Accept-Encoding would allow any; a client that sends none can rarely decode one.
 * - A coding with an unreadable weight, or with another parameter, counts as refused: treated as absent, a `*` beside
 *   it would allow it. A member without a readable name is ignored.
 * - A repeated coding has the lower of its weights: one refusal is enough.
 * - `identity`, where named, must not weigh more than the coding. Whether it is refused does not matter: an
 *   uncompressed response is sent as the upstream made it.
 */
export function chooseCoding(acceptEncoding: string | undefined): Coding | null {
  if (acceptEncoding === undefined) return null;
  const weights = readWeights(acceptEncoding);
  const others = weights.get('*') ?? 0;
  let chosen: Coding | null = null;
  // A coding with weight 0 is refused, so the first choice needs a higher weight.
  let best = 0;
  for (const coding of CODINGS) {
    const weight = weights.get(coding) ?? others;
    if (weight > best) {
      best = weight;
      chosen = coding;
    }
  }
  return (weights.get('identity') ?? 0) > best ? null : chosen;
}

function readWeights(acceptEncoding: string): ReadonlyMap<string, number> {
  const weights = new Map<string, number>();
  for (const member of acceptEncoding.toLowerCase().split(',')) {
    const [head = '', ...parameters] = member.split(';');
    const named = trimmed(head);
    if (!TOKEN.test(named)) continue;
    // RFC 9110 §8.4.1.3: a recipient treats "x-gzip" as "gzip".
    const name = named === 'x-gzip' ? 'gzip' : named;
    weights.set(name, Math.min(weights.get(name) ?? 1, weightOf(parameters)));
  }
  return weights;
}

function weightOf(parameters: readonly string[]): number {
  if (parameters.length === 0) return 1;
  const weight = parameters.length === 1 ? WEIGHT.exec(trimmed(parameters[0] ?? '')) : null;
  return weight === null ? 0 : Number(weight[1]);
}

/**
 * HTTP's optional whitespace: space and tab, not the rest of what `trim` removes. By index: `/[ \t]+$/` takes quadratic
 * time, 1.1 s for a header of 32 KB.
 */
function trimmed(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(text, start)) start += 1;
  while (end > start && isBlank(text, end - 1)) end -= 1;
  return text.slice(start, end);
}

function isBlank(text: string, at: number): boolean {
  return text[at] === ' ' || text[at] === '\t';
}
