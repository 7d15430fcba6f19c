import Type from 'typebox';
import { type Coding, chooseCoding } from '../../kit/http/content-coding.ts';
import type { HeaderList } from '../../kit/http/header-values.ts';
import type { AgentForm } from '../contract/agent-form.ts';
import type { TrafficRequest } from '../contract/decides.ts';
import { defineModule, enabledField } from '../contract/module.ts';
import type { ResponseTransform, TrafficResponseHead } from '../contract/prepared-module.ts';
import { CompressingStream, codecs, hasCompressor, MAX_WHOLE_BYTES } from './codecs.ts';
import { eligibilityOf, isEventStream, readFacts, saysNoTransform } from './eligibility.ts';

const compressionAgentForm: AgentForm = {
  order: 4,
  key: 'compression',
  shape: 'switch',
  protocols: ['https', 'http'],
  fields: [],
  flag: { name: 'compression', hint: '', description: 'Compress responses that are not compressed.' },
  summary: ['compression'],
};

/** The module's hook: null when the response is sent as the upstream made it. */
export function compressResponse(request: TrafficRequest, head: TrafficResponseHead): ResponseTransform | null {
  const facts = readFacts(head.headers);
  const eligibility = eligibilityOf(request.method, head, facts);
  if (eligibility === 'fixed') return null;
  // A client may also ask for unmodified content (RFC 9111 §5.2.1.6).
  if (eligibility === 'compressible' && !saysNoTransform(request.combinedHeader('cache-control'))) {
    const coding = chooseCoding(request.combinedHeader('accept-encoding'));
    const change = coding === null ? null : compressed(request, head, coding, isEventStream(facts.contentType));
    if (change !== null) return change;
  }
  const tagged =
    head.status === 304 ? requestedTag(head.headers, request.combinedHeader('if-none-match')) : head.headers;
  const headers = withVary(tagged);
  return headers === head.headers ? null : { headers, createStream: null };
}

/** Null: it would take memory that is needed for others. */
function compressed(
  { clientAddress }: TrafficRequest,
  head: TrafficResponseHead,
  coding: Coding,
  isEventStream: boolean,
): ResponseTransform | null {
  const { bodyBytes, fixedBody } = head;
  const codec = codecs[coding];
  // An event stream is never held back, even when its length is known.
  const isWhole = bodyBytes !== null && bodyBytes <= MAX_WHOLE_BYTES && !isEventStream;
  if (fixedBody === undefined && !isWhole && !hasCompressor(clientAddress)) return null;
  const change: ResponseTransform = {
    headers: compressedHeaders(head.headers, coding),
    createStream: () => new CompressingStream({ codec, isEventStream, bodyBytes, clientAddress }),
    trailers: compressedTrailers,
  };
  if (fixedBody !== undefined) return { ...change, whole: () => fixedBodyIn(fixedBody, coding) };
  return isWhole ? { ...change, whole: (body) => codec.whole(body) } : change;
}

const compressionConfig = Type.Object({ enabled: enabledField });

/** Compresses responses for clients that accept it. */
export const compression = defineModule({
  name: 'compression',
  on: ['requests'],
  decidesAccess: false,
  readsPath: false,
  title: 'Compression module',
  description: 'Compresses responses for clients that accept compression.',
  config: compressionConfig,
  example: { enabled: true },
  agent: { form: compressionAgentForm },
  prepare: () => ({ ok: true, prepared: { transform: compressResponse } }),
});

/** Released with the body, when its configuration changes. */
const made = new WeakMap<Buffer, Map<Coding, Buffer>>();

/** A body that is the same for every request is compressed once per coding. */
function fixedBodyIn(body: Buffer, coding: Coding): Buffer {
  let forms = made.get(body);
  if (forms === undefined) {
    forms = new Map();
    made.set(body, forms);
  }
  let form = forms.get(coding);
  if (form === undefined) {
    form = codecs[coding].whole(body);
    forms.set(coding, form);
  }
  return form;
}

/** Valid for the upstream's bytes but not for ours: RFC 1864, RFC 3230, RFC 9530 (whose digests include the coding). */
const DIGESTS: ReadonlySet<string> = new Set(['content-digest', 'content-md5', 'digest', 'repr-digest']);

/**
 * Replaced, or wrong for a coded body: its length is unknown, and ranges of it cannot be requested (it is not kept).
 */
const REPLACED: ReadonlySet<string> = new Set(['accept-ranges', 'content-encoding', 'content-length']);

function compressedHeaders(headers: HeaderList, coding: Coding): HeaderList {
  const result: string[] = [];
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] as string;
    const value = headers[at + 1] as string;
    if (DIGESTS.has(name) || REPLACED.has(name)) continue;
    if (name === 'etag') {
      const tag = weakened(value);
      if (tag !== null) result.push(name, tag);
    } else result.push(name, value);
  }
  result.push('content-encoding', coding);
  return withVary(result);
}

/** The same list when there is nothing to add. */
export function withVary(headers: HeaderList): HeaderList {
  let last = -1;
  for (let at = 0; at < headers.length; at += 2) {
    if (headers[at] !== 'vary') continue;
    // Nothing can be added to "*" (RFC 9110 §12.5.5).
    if (/(?:^|,)[ \t]*(?:\*|accept-encoding)[ \t]*(?:,|$)/i.test(headers[at + 1] as string)) return headers;
    last = at;
  }
  if (last < 0) return [...headers, 'vary', 'Accept-Encoding'];
  const value = (headers[last + 1] as string).trim();
  return headers.with(last + 1, value === '' ? 'Accept-Encoding' : `${value}, Accept-Encoding`);
}

/** A digest known only at the end comes as a trailer, and is equally wrong there. */
function compressedTrailers(trailers: HeaderList): HeaderList {
  return trailers.filter((_, at) => !DIGESTS.has(trailers[at - (at % 2)] as string));
}

/** RFC 9110 §8.8.3. */
const STRONG = /^"[\x21\x23-\x7e\x80-\xff]*"$/;
const WEAK = /^W\/"[\x21\x23-\x7e\x80-\xff]*"$/;

/**
 * The tag for a coded body: a strong tag promises the same bytes (RFC 9110 §8.8.1), and ours differ by coding and by
 * compressor version. Null for an invalid tag: it cannot be weakened, and must not be taken for a strong one.
 */
export function weakened(tag: string): string | null {
  if (STRONG.test(tag)) return `W/${tag}`;
  return WEAK.test(tag) ? tag : null;
}

/**
 * Headers of a 304: the client sent the weak tag that it got from us, the upstream responds with its strong one. A
 * cache that holds the weak one must not freshen it by another strong tag (RFC 9111 §4.3.4): it gets back the tag that
 * it sent.
 */
export function requestedTag(headers: HeaderList, ifNoneMatch: string | undefined): HeaderList {
  if (ifNoneMatch === undefined) return headers;
  const at = headers.findIndex((name, index) => index % 2 === 0 && name === 'etag');
  const tag = headers[at + 1];
  if (at < 0 || tag === undefined || !STRONG.test(tag)) return headers;
  const asked: readonly string[] = ifNoneMatch.match(/(?:W\/)?"[^"]*"/g) ?? [];
  return asked.includes(`W/${tag}`) && !asked.includes(tag) ? headers.with(at + 1, `W/${tag}`) : headers;
}
