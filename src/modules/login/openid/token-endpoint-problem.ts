import { ClientError, ResponseBodyError, WWWAuthenticateChallengeError } from 'openid-client';
import { FetchProblem } from '../../../lib/http/fetch-problem.ts';
import { isJsonObject } from '../../../lib/json.ts';
import { isBusyStatus, statusProblem } from '../provider/ask-provider.ts';
import { foreignText, LoginProblem, unansweredProblem } from '../provider/login-problem.ts';
import { claimFault, tokenProblem } from '../provider/verify-token.ts';

export interface TokenRequest {
  readonly endpoint: string;
  /** Values that were sent and must not appear in a message. */
  readonly secrets: readonly string[];
}

/**
 * Converts an error of openid-client into one of our problems. Its errors carry responses and claims, so none of them
 * is passed on.
 */
export async function tokenEndpointProblem(error: unknown, request: TokenRequest): Promise<LoginProblem> {
  if (error instanceof ResponseBodyError) {
    if (isBusyStatus(error.status)) return statusProblem(request.endpoint, error.status);
    return answeredError(error.error, error.error_description, request);
  }
  if (error instanceof WWWAuthenticateChallengeError) return challenge(error, request);
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof LoginProblem) return cause;
    if (cause instanceof FetchProblem) return unansweredProblem(cause);
  }
  if (error instanceof ClientError && error.cause instanceof Response && error.cause.status !== 200) {
    return statusProblem(request.endpoint, error.cause.status);
  }
  const words = error instanceof ClientError && error.cause instanceof Error ? error.cause.message : '';
  return answerProblem(words, request);
}

/**
 * The messages of oauth4webapi name the invalid claim and contain no values; the tests of the hostile provider pin
 * them.
 */
function answerProblem(words: string, request: TokenRequest): LoginProblem {
  const claim = /(?:JWT|ID Token) "(\w+)"/.exec(words)?.[1];
  if (claim !== undefined) return tokenProblem('id_token', claimFault(claim), words);
  if (words.includes('"id_token" property')) {
    return new LoginProblem('token', 'id_token_missing', `${request.endpoint} returned no ID token`);
  }
  if (words.includes('JWE')) {
    return tokenProblem('id_token', 'malformed', 'it is encrypted: turn off ID token encryption for this client');
  }
  if (words.includes('JWT')) return tokenProblem('id_token', 'malformed', words);
  return new LoginProblem(
    'provider',
    'malformed_answer',
    `${request.endpoint} returned no valid token response in JSON`,
  );
}

/** RFC 6749 §5.2: with 401, the error comes together with a challenge. */
async function challenge(error: WWWAuthenticateChallengeError, request: TokenRequest): Promise<LoginProblem> {
  if (isBusyStatus(error.status)) return statusProblem(request.endpoint, error.status);
  const body: unknown = await error.response
    .clone()
    .json()
    .catch(() => null);
  if (isJsonObject(body) && typeof body['error'] === 'string') {
    const description = body['error_description'];
    return answeredError(body['error'], typeof description === 'string' ? description : undefined, request);
  }
  return error.status === 401
    ? answeredError('invalid_client', undefined, request)
    : statusProblem(request.endpoint, error.status);
}

function answeredError(code: string, description: string | undefined, request: TokenRequest): LoginProblem {
  const words = description === undefined ? '' : ` (${foreignText(description, request.secrets)})`;
  const said = `${request.endpoint} returned "${foreignText(code, request.secrets)}"${words}`;
  switch (code) {
    case 'invalid_grant':
      return new LoginProblem('invalid_grant', 'invalid_grant', said);
    case 'invalid_client':
    case 'unauthorized_client':
      return new LoginProblem('configuration', 'client_rejected', `${said}: check client_id and client_secret`);
    default:
      return new LoginProblem('provider', 'token_error', said);
  }
}
