import type { ResponseTransform, TrafficResponseHead } from '../contract/changes-responses.ts';
import type { TrafficRequest } from '../contract/traffic-request.ts';
import { type Coding, chooseCoding } from './accept-encoding.ts';
import { codecs, MAX_WHOLE_BYTES } from './codecs.ts';
import { isEventStream } from './compressible-type.ts';
import { CompressingStream, hasCompressor } from './compressing-stream.ts';
import { eligibilityOf } from './eligibility.ts';
import { requestedTag } from './entity-tag.ts';
import { fixedBodyIn } from './fixed-bodies.ts';
import { readFacts, saysNoTransform } from './response-facts.ts';
import { compressedHeaders, compressedTrailers, withVary } from './response-headers.ts';

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
