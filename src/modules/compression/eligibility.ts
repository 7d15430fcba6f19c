import { isCompressibleType, mediaType } from '../../kit/http/content-coding.ts';
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

/** A type whose events must not be delayed: EventSource shows them one by one. */
export function isEventStream(contentType: string | undefined): boolean {
  return contentType !== undefined && mediaType(contentType) === 'text/event-stream';
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
