import type { ErrorCode } from '../../../lib/errors.ts';
import type { Refusal } from '../../contract/decides.ts';
import type { Identity } from '../../contract/recognizes-requesters.ts';
import type { TrafficRequest } from '../../contract/traffic-request.ts';
import type { Decision } from '../rules.ts';

/** RFC 6750 §3.1; null: the request had no token for us (§3: then there is no error to report). */
type BearerError = 'invalid_request' | 'invalid_token' | 'insufficient_scope' | null;

interface TokenRefusal {
  readonly status: number;
  readonly code: ErrorCode;
  readonly error: BearerError;
  readonly reason: string;
  readonly message: string;
}

function tokenRefusal(request: TrafficRequest, { error, ...refusal }: TokenRefusal): Refusal {
  const { message, reason } = refusal;
  return {
    ...refusal,
    headers: ['www-authenticate', bearerChallenge(request, error, message)],
    details: { reason },
    accessRule: null,
  };
}

function bearerChallenge(request: TrafficRequest, error: BearerError, description: string): string {
  const realm = `Bearer realm="${request.host}"`;
  // RFC 6750 §3: the description has no quotes and no backslashes.
  const text = description.replaceAll(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, "'");
  return error === null ? realm : `${realm}, error="${error}", error_description="${text}"`;
}

export function tokenInvalid(request: TrafficRequest, reason: string, message: string): Refusal {
  return tokenRefusal(request, {
    status: 401,
    code: 'ERR_POSTERN_ACCESS_TOKEN_INVALID',
    error: 'invalid_token',
    reason,
    message,
  });
}

export function tokenMalformed(request: TrafficRequest, message: string): Refusal {
  return tokenRefusal(request, {
    status: 400,
    code: 'ERR_POSTERN_ACCESS_TOKEN_MALFORMED',
    error: 'invalid_request',
    reason: 'token_malformed',
    message,
  });
}

/** A bearer token that is nothing to us, where there is no login either. */
export function tokenRequired(request: TrafficRequest): Refusal {
  return tokenRefusal(request, {
    status: 401,
    code: 'ERR_POSTERN_ACCESS_TOKEN_REQUIRED',
    error: null,
    reason: 'token_required',
    message: 'This site does not accept that bearer token. Send the token of a service account that may enter here.',
  });
}

/** This node cannot know whether the token was made, or revoked, at another one. */
export function tokenUnverified(request: TrafficRequest): Refusal {
  const reason = 'token_unverified';
  return {
    status: 503,
    code: 'ERR_POSTERN_ACCESS_TOKEN_UNVERIFIED',
    reason,
    message:
      'The token cannot be verified now, because this node does not know what other nodes have changed. Try again in a few seconds.',
    headers: ['retry-after', '2', 'www-authenticate', bearerChallenge(request, null, '')],
    details: { reason },
    accessRule: null,
  };
}

export function issuerUnavailable(request: TrafficRequest, issuer: string, reason: string): Refusal {
  return {
    status: 503,
    code: 'ERR_POSTERN_ACCESS_ISSUER_UNAVAILABLE',
    reason,
    message: `The token cannot be verified now, because the keys of ${issuer} cannot be fetched. Try again later.`,
    headers: ['retry-after', '5', 'www-authenticate', bearerChallenge(request, null, '')],
    details: { reason },
    accessRule: null,
  };
}

/** The token is valid, and the rules of this route do not let its holder in. */
export function tokenForbidden(request: TrafficRequest, identity: Identity, { reason, rule }: Decision): Refusal {
  const holder = identity.kind === 'service_account' ? 'service account' : 'workload';
  const refusal = tokenRefusal(request, {
    status: 403,
    code: 'ERR_POSTERN_ACCESS_TOKEN_FORBIDDEN',
    error: 'insufficient_scope',
    reason,
    message: `The token is valid, but the ${holder} "${identity.id}" may not enter here.`,
  });
  return { ...refusal, accessRule: rule, details: { reason, account: identity.id, kind: identity.kind } };
}
