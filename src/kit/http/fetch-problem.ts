import { messageOf } from '../error-text.ts';
import { ForbiddenAddressError } from '../net/lookups.ts';

export type FetchProblemReason = 'address_refused' | 'plain_http' | 'timeout' | 'too_large' | 'unreachable' | 'tls';

/**
 * Why a server was not contacted or gave no usable response. The message names only the server and path: queries and
 * bodies carry secrets. There is no cause either: the runtime's parser errors carry the raw bytes of the response.
 */
export class FetchProblem extends Error {
  readonly reason: FetchProblemReason;
  /** The message without the server's name. */
  readonly explanation: string;

  constructor(reason: FetchProblemReason, url: URL, message: string) {
    super(`${url.origin}${url.pathname}: ${message}`);
    this.name = 'FetchProblem';
    this.explanation = message;
    this.reason = reason;
  }
}

/** OpenSSL's verification codes have no common prefix. */
const TLS_CODE = /^(?:ERR_TLS|ERR_SSL|ERR_OSSL|CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|INVALID_|CRL_|HOSTNAME_|EPROTO)/;

export function problemOf(error: unknown, url: URL): FetchProblem {
  if (error instanceof FetchProblem) return error;
  if (error instanceof ForbiddenAddressError) return new FetchProblem('address_refused', url, error.message);
  // When every address of a host failed, the first error represents all.
  if (error instanceof AggregateError && error.errors.length > 0) return problemOf(error.errors[0], url);
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
  const message = messageOf(error);
  if (TLS_CODE.test(code)) return new FetchProblem('tls', url, message);
  if (code === 'HPE_HEADER_OVERFLOW') return new FetchProblem('too_large', url, 'the response head is too large');
  return new FetchProblem('unreachable', url, message);
}
