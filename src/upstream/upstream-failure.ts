import type { UpstreamFailure } from './upstream.ts';

/** The reason if the body of the request broke off, or does not have its announced length: its sender caused it. */
export const REQUEST_BODY = 'request_body';

/** This process has no file descriptor left for the connection, or only those of its reserve. */
export const TOO_MANY_FILES = 'too_many_files';

/** The reasons if no stream to the agent is left, or none for the address of this visitor. */
export const REASON_OF_SHORTAGE = { full: 'tunnel_full', share: 'tunnel_share' } as const;

/** The reasons if no connection to the upstream is left, or none for the address of this visitor. */
export const UPSTREAM_SHORTAGE = { full: 'upstream_full', share: 'upstream_share' } as const;

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'refused',
  ECONNRESET: 'reset',
  EPIPE: 'closed',
  ETIMEDOUT: 'timeout',
  ENOTFOUND: 'dns',
  ENODATA: 'dns',
  EHOSTUNREACH: 'unreachable',
  ENETUNREACH: 'unreachable',
  EADDRNOTAVAIL: 'unreachable',
  EMFILE: TOO_MANY_FILES,
  ENFILE: TOO_MANY_FILES,
  ERR_FORBIDDEN_ADDRESS: 'forbidden_address',
};

/** OpenSSL's verification codes have no common prefix. */
const TLS_CODE = /^(?:ERR_TLS|ERR_SSL|ERR_OSSL|CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|INVALID_|CRL_|HOSTNAME_|EPROTO)/;

export function failed(
  phase: UpstreamFailure['phase'],
  reason: string,
  message: string,
  mayHaveBeenSent: boolean,
): UpstreamFailure {
  return { phase, reason, message, mayHaveBeenSent };
}

/** The stable reason for a system or OpenSSL error code. */
export function reasonOf(error: unknown): string {
  const code = codeOf(error);
  const known = REASONS[code];
  if (known !== undefined) return known;
  if (code.startsWith('EAI_')) return 'dns';
  return TLS_CODE.test(code) ? 'tls' : 'failed';
}

/** A system whose program closes a connection with unread bytes resets it; one that has read everything just ends it. */
export function isReset(error: unknown): boolean {
  return /^(?:ECONNRESET|EPIPE)$/.test(codeOf(error));
}

/** When every address of a host failed, the first error represents all. */
export function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : '';
}
