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

/** The type and subtype of a Content-Type, in lower case. */
export function mediaType(contentType: string): string {
  const end = contentType.indexOf(';');
  return (end < 0 ? contentType : contentType.slice(0, end)).trim().toLowerCase();
}

/** Supported content codings, in order of preference when a client accepts several equally. */
export const CODINGS = ['zstd', 'br', 'gzip', 'deflate'] as const;

export type Coding = (typeof CODINGS)[number];

/** RFC 9110 §12.4.2: at most three decimals. */
const WEIGHT = /^q=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)$/i;
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;

/**
 * The coding for a client (RFC 9110 §12.5.3), null for none. `offered`: in order of preference.
 *
 * Where the RFC leaves room, the result is what every client understands, no coding:
 * - A missing Accept-Encoding would allow any; a client that sends none can rarely decode one.
 * - A coding with an unreadable weight, or with another parameter, counts as refused: treated as absent, a `*` beside
 *   it would allow it. A member without a readable name is ignored.
 * - A repeated coding has the lower of its weights: one refusal is enough.
 * - `identity`, where named, must not weigh more than the coding. Whether it is refused does not matter: an
 *   uncompressed response is sent as the upstream made it.
 */
export function chooseCoding(acceptEncoding: string | undefined): Coding | null;
export function chooseCoding<Offered extends Coding>(
  acceptEncoding: string | undefined,
  offered: readonly Offered[],
): Offered | null;
export function chooseCoding(acceptEncoding: string | undefined, offered: readonly Coding[] = CODINGS): Coding | null {
  if (acceptEncoding === undefined) return null;
  const weights = readWeights(acceptEncoding);
  const others = weights.get('*') ?? 0;
  let chosen: Coding | null = null;
  // A coding with weight 0 is refused, so the first choice needs a higher weight.
  let best = 0;
  for (const coding of offered) {
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
