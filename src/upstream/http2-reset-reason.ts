import { constants } from 'node:http2';
import { reasonOf } from './upstream-failure.ts';

const REASONS: Readonly<Record<number, string>> = {
  [constants.NGHTTP2_REFUSED_STREAM]: 'refused_stream',
  [constants.NGHTTP2_CANCEL]: 'cancelled',
  [constants.NGHTTP2_PROTOCOL_ERROR]: 'malformed',
  [constants.NGHTTP2_ENHANCE_YOUR_CALM]: 'enhance_your_calm',
  [constants.NGHTTP2_HTTP_1_1_REQUIRED]: 'http1_required',
};

/** The stable reason for the end of a stream. */
export function resetReason(code: number, error: Error | null): string {
  const known = REASONS[code];
  if (known !== undefined) return known;
  if (error === null) return 'closed';
  const reason = reasonOf(error);
  return reason === 'failed' ? 'reset' : reason;
}
