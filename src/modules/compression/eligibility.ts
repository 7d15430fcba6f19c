import type { TrafficResponseHead } from '../contract/changes-responses.ts';
import { isCompressibleType } from './compressible-type.ts';
import type { ResponseFacts } from './response-facts.ts';

/**
 * How a response can be treated, for any client:
 * - `fixed`: the same for every client, as the upstream made it.
 * - `varies`: its body is unchanged, but the body of the same resource's 200 depends on Accept-Encoding, and caches
 *   must know.
 * - `compressible`: coded for clients that accept a coding.
 */
export type Eligibility = 'fixed' | 'varies' | 'compressible';

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
