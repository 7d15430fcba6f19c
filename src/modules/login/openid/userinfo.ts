import type { JsonObject } from '../../../lib/json.ts';
import { askProvider, jsonOf } from '../provider/ask-provider.ts';
import { LoginProblem } from '../provider/login-problem.ts';
import type { Provider } from '../provider/provider.ts';
import { tokenProblem, verifyToken } from '../provider/verify-token.ts';
import { userClaims } from './id-token.ts';

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
