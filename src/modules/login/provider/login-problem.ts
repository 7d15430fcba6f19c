import type { FetchProblem, FetchProblemReason } from '../../../kit/http/fetch-problem.ts';

/**
 * - `unreachable`: the provider did not respond, or reported that it cannot now (429, 5xx); it may recover. Only this
 *   keeps a login that is due for a refresh valid.
 * - `provider`: it responded, but violated the protocol, or with an error of its own.
 * - `denied`: the user or the provider denied the login.
 * - `token`: a token is not trustworthy.
 * - `invalid_grant`: the code or refresh token is used, expired or revoked.
 * - `configuration`: fails until somebody changes a setting, here or at the provider.
 */
export type LoginProblemKind = 'unreachable' | 'provider' | 'denied' | 'token' | 'invalid_grant' | 'configuration';

export type TokenName = 'id_token' | 'logout_token' | 'userinfo' | 'workload_token';

export type TokenFault =
  | 'malformed'
  | 'type'
  | 'algorithm'
  | 'key'
  | 'signature'
  | 'issuer'
  | 'audience'
  | 'authorized_party'
  | 'subject'
  | 'issued_at'
  | 'expired'
  | 'not_before'
  | 'nonce'
  | 'event'
  | 'jti';

/** Stable values for logs and metrics, few in number. */
export type LoginProblemReason =
  | `${TokenName}_${TokenFault}`
  | 'id_token_missing'
  | 'address_refused'
  | 'plain_http'
  | 'timeout'
  | 'too_large'
  | 'unreachable'
  | 'tls'
  | 'issuer_mismatch'
  | 'issuer_template'
  | 'endpoint_missing'
  | 'endpoint_insecure'
  | 'code_unsupported'
  | 'algorithms_unsupported'
  | 'client_authentication'
  | 'client_rejected'
  | 'access_denied'
  | 'callback_error'
  | 'callback_state'
  | 'callback_issuer'
  | 'callback_malformed'
  | 'token_error'
  | 'invalid_grant'
  | 'redirected'
  | 'unexpected_status'
  | 'malformed_answer';

/**
 * Why a login, a refresh or a logout failed. The message is for the operator's log and contains no token, code or
 * secret. It deliberately has no cause: the libraries' errors carry whole responses and claims.
 */
export class LoginProblem extends Error {
  readonly kind: LoginProblemKind;
  readonly reason: LoginProblemReason;

  constructor(kind: LoginProblemKind, reason: LoginProblemReason, message: string) {
    super(message);
    this.name = 'LoginProblem';
    this.kind = kind;
    this.reason = reason;
  }
}

/** Converts a request that was not made, or not answered, into a login problem. */
export function unansweredProblem(problem: FetchProblem): LoginProblem {
  return new LoginProblem(KIND_OF_UNANSWERED[problem.reason], problem.reason, problem.message);
}

const KIND_OF_UNANSWERED: Readonly<Record<FetchProblemReason, LoginProblemKind>> = {
  address_refused: 'configuration',
  plain_http: 'configuration',
  too_large: 'provider',
  timeout: 'unreachable',
  unreachable: 'unreachable',
  tls: 'unreachable',
};

const MAX_FOREIGN_TEXT = 200;

/** Foreign text in a form fit for a log line: printable, short, and without secrets. */
export function foreignText(text: string, secrets: readonly string[] = []): string {
  const bare = secrets
    .filter((secret) => secret !== '')
    .reduce((rest, secret) => rest.replaceAll(secret, '[redacted]'), text);
  const printable = bare.replaceAll(/[^\x20-\x7e]/g, '?');
  return printable.length > MAX_FOREIGN_TEXT ? `${printable.slice(0, MAX_FOREIGN_TEXT)}…` : printable;
}
