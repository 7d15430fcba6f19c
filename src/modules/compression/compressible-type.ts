/**
 * Types that get smaller, named one by one: what is not here is left alone. Images, video, audio, archives, PDF, WOFF and
 * WOFF2 are compressed by their own format, `application/octet-stream` may be anything (mostly a download that is); coding
 * them again costs time for nothing, and guessing wrong about an unknown type costs every response of it.
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
  // Legacy EOT, OpenType and TrueType are tables of plain numbers; WOFF is the compressed form of the same.
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
  // Images without compression of their own.
  'image/bmp',
  'image/svg+xml',
  'image/vnd.microsoft.icon',
  'image/x-icon',
  'image/x-ms-bmp',
  'model/gltf+json',
]);

/** Structured syntaxes that are text (RFC 6839, RFC 9512), and CBOR, whose keys repeat as JSON's do. */
const SUFFIX = /\+(?:json|xml|yaml|cbor|json-seq)$/;

/** For the value of a Content-Type; undefined when there is none, and then nothing is known of the body: not compressed. */
export function isCompressibleType(contentType: string | undefined): boolean {
  if (contentType === undefined) return false;
  const type = mediaType(contentType);
  // Has its own compression per message, and clients that look at the coding of the whole call it a broken stream.
  if (type.startsWith('application/grpc')) return false;
  return type.startsWith('text/') || NAMED.has(type) || SUFFIX.test(type);
}

/** Whose events must not wait: EventSource shows them one by one. */
export function isEventStream(contentType: string | undefined): boolean {
  return contentType !== undefined && mediaType(contentType) === 'text/event-stream';
}

function mediaType(contentType: string): string {
  const end = contentType.indexOf(';');
  return (end < 0 ? contentType : contentType.slice(0, end)).trim().toLowerCase();
}
