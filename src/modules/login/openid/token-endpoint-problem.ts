import {
  type ClientAuth,
  ClientError,
  ClientSecretPost,
  None,
  ResponseBodyError,
  type ServerMetadata,
  WWWAuthenticateChallengeError,
} from 'openid-client';
import { FetchProblem } from '../../../kit/http/fetch-problem.ts';
import { isJsonObject, type JsonObject } from '../../../kit/json.ts';
import { askProvider, isBusyStatus, jsonOf, statusProblem } from '../provider/issuer-source.ts';
import { foreignText, LoginProblem, unansweredProblem } from '../provider/login-problem.ts';
import type { Provider } from '../provider/providers.ts';
import { claimFault, tokenProblem, verifyToken } from '../provider/verify-token.ts';
import { userClaims } from './id-token.ts';

interface TokenRequest {
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

/**
 * How the client authenticates at the token endpoint: as the provider announces, `client_secret_basic` before `_post`.
 */
export function clientAuthentication(metadata: ServerMetadata, secret: string): ClientAuth {
  if (secret === '') return None();
  // OpenID Connect Discovery 1.0 §3: the default is client_secret_basic.
  const methods = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  if (methods.includes('client_secret_basic')) return basic(secret);
  if (methods.includes('client_secret_post')) return ClientSecretPost(secret);
  throw new LoginProblem(
    'configuration',
    'client_authentication',
    `${metadata.issuer} accepts neither client_secret_basic nor client_secret_post`,
  );
}

/**
 * RFC 6749 §2.3.1. The library's own form also encodes `-`, `_` and `.`, which is correct, but rejected by providers
 * that compare without decoding; the form encoding of URLs leaves these as they are, and decodes to the same.
 */
function basic(secret: string): ClientAuth {
  return (_server, client, _body, headers) => {
    const credentials = `${formEncoded(client.client_id)}:${formEncoded(secret)}`;
    headers.set('authorization', `Basic ${Buffer.from(credentials).toString('base64')}`);
  };
}

function formEncoded(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1);
}

/** The claims that each scope is requested for, as far as anything here depends on them. */
const CLAIM_OF_SCOPE: ReadonlyMap<string, string> = new Map([
  ['email', 'email'],
  ['profile', 'name'],
  ['groups', 'groups'],
  ['roles', 'roles'],
]);

/** Many providers put the claims of a scope into the ID token; the rest return them only at the userinfo endpoint. */
export function lacksClaims(claims: JsonObject, scopes: readonly string[]): boolean {
  return scopes.some((scope) => {
    const claim = CLAIM_OF_SCOPE.get(scope);
    return claim !== undefined && claims[claim] === undefined;
  });
}

/**
 * OpenID Connect Core §5.3: the response counts only when its `sub` equals the ID token's; otherwise it may be about
 * somebody else.
 */
export async function fetchUserinfo(
  provider: Provider,
  url: string,
  accessToken: string,
  expected: { readonly subject: string; readonly clientId: string },
): Promise<JsonObject> {
  const response = await askProvider(provider.ports.fetch, url, {
    headers: { accept: 'application/json', authorization: `Bearer ${accessToken}` },
  });
  const isSigned = response.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase() === 'application/jwt';
  const payload = isSigned
    ? await signedPayload(provider, await response.text(), expected.clientId)
    : await jsonOf(response, url);
  if (payload['sub'] !== expected.subject) {
    throw new LoginProblem('token', 'userinfo_subject', `${url} returned another user than the ID token ("sub")`);
  }
  return userClaims(payload);
}

/** §5.3.2: a signed response should name issuer and audience; where it does, they must match. */
async function signedPayload(provider: Provider, token: string, clientId: string): Promise<object & { sub?: unknown }> {
  const { payload, claims } = await verifyToken(provider, 'userinfo', token, {});
  if (payload.iss !== undefined && payload.iss !== provider.issuer) {
    throw tokenProblem('userinfo', 'issuer', '"iss" is not the provider');
  }
  if (payload.aud !== undefined && ![payload.aud].flat().includes(clientId)) {
    throw tokenProblem('userinfo', 'audience', '"aud" is not this client');
  }
  return claims;
}
