import type { ResponseTransform, TrafficRequest, TrafficResponseHead } from '../prepared-module.ts';
import { chooseCoding } from './accept-encoding.ts';
import { codecs } from './codecs.ts';
import { isEventStream } from './compressible-type.ts';
import { CompressingStream } from './compressing-stream.ts';
import { eligibilityOf } from './eligibility.ts';
import { tagAsAsked } from './entity-tag.ts';
import { readFacts, saysNoTransform } from './response-facts.ts';
import { compressedHeaders, compressedTrailers, withVary } from './response-headers.ts';

/** The module's hook: null when the response goes out as the upstream made it. */
export function compressResponse(request: TrafficRequest, head: TrafficResponseHead): ResponseTransform | null {
  const facts = readFacts(head.headers);
  const eligibility = eligibilityOf(request.method, head, facts);
  if (eligibility === 'fixed') return null;
  // A client, too, may ask for the content as it is (RFC 9111 §5.2.1.6).
  if (eligibility === 'compressible' && !saysNoTransform(request.combinedHeader('cache-control'))) {
    const coding = chooseCoding(request.combinedHeader('accept-encoding'));
    if (coding !== null) {
      const options = {
        codec: codecs[coding],
        isEventStream: isEventStream(facts.contentType),
        bodyBytes: head.bodyBytes,
      };
      return {
        headers: compressedHeaders(head.headers, coding),
        createStream: () => new CompressingStream(options),
        trailers: compressedTrailers,
      };
    }
  }
  const tagged = head.status === 304 ? tagAsAsked(head.headers, request.combinedHeader('if-none-match')) : head.headers;
  const headers = withVary(tagged);
  return headers === head.headers ? null : { headers, createStream: null };
}
