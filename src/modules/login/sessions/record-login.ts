import type { OwnPathRequest } from '../../contract/serves-paths.ts';
import type { BrowserKey } from '../cookies/session-cookie.ts';
import type { LoginTokens } from '../login-client.ts';
import type { LoginOnRoute } from '../login-on-route.ts';
import type { LoginRuntime } from '../login-runtime.ts';

/** Stores a login that the provider has confirmed. */
export async function recordLogin(
  runtime: LoginRuntime,
  request: OwnPathRequest,
  login: LoginOnRoute,
  tokens: LoginTokens,
  nonce: string,
): Promise<BrowserKey> {
  const { config, cookieNames } = login;
  const { edgeId, routeId, issuer, clientId, scopes, limits, parameters, identityProvider } = config;
  const { subject, claims, sid, accessExpiresInSeconds } = tokens;
  const { key } = await runtime.recordSession(request, {
    edgeId,
    routeId,
    issuer,
    clientId,
    scopes,
    limits,
    parameters,
    identityProvider,
    subject,
    claims,
    cookieNames,
    providerSessionId: sid,
    accessExpiresInSeconds,
    endsAtMs: null,
    secrets: {
      ...(tokens.idToken !== null && { id_token: tokens.idToken }),
      nonce,
      ...(tokens.accessToken !== null && { access_token: tokens.accessToken }),
      ...(tokens.refreshToken !== null && { refresh_token: tokens.refreshToken }),
    },
    isInForce: (grant) => login.isInForce(grant, request.nowMs),
  });
  return key;
}
