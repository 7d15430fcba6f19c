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
