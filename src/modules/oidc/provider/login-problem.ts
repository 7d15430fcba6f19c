import type { FetchProblem, FetchProblemReason } from '../../../lib/fetch-problem.ts';

/**
 * - `unreachable`: the provider did not answer, or said that it cannot now (429, 5xx); later it may. Only this leaves a login that is
 *   to be refreshed in force.
 * - `provider`: it answered, but not as the protocol has it, or with an error of its own.
 * - `denied`: the user or the provider said no.
 * - `token`: a token is not to be believed.
 * - `invalid_grant`: the code or refresh token is spent, expired or revoked.
 * - `configuration`: nothing gets better before somebody changes a setting, here or at the provider.
 */
export type LoginProblemKind = 'unreachable' | 'provider' | 'denied' | 'token' | 'invalid_grant' | 'configuration';

export type TokenName = 'id_token' | 'logout_token' | 'userinfo';

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

/** Words for logs and metrics: they never change, and there are few of them. */
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
 * Why a login, a refresh or a logout did not happen. The message is for the operator's log and holds no token, code or secret.
 * It has no cause on purpose: the libraries' errors carry whole answers and claims.
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

/** A request that was not made, or not answered, as a problem of login. */
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

/** Text of others, fit for a log line: printable, short, and without what must not be in it. */
export function foreignText(text: string, secrets: readonly string[] = []): string {
  const bare = secrets
    .filter((secret) => secret !== '')
    .reduce((rest, secret) => rest.replaceAll(secret, '[redacted]'), text);
  const printable = bare.replaceAll(/[^\x20-\x7e]/g, '?');
  return printable.length > MAX_FOREIGN_TEXT ? `${printable.slice(0, MAX_FOREIGN_TEXT)}…` : printable;
}
