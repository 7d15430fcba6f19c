import { hash } from 'node:crypto';
import { decodeJwt } from 'jose';
import { subjectIdentity } from '../../../lib/text/subject-identity.ts';
import type { OwnAnswer, OwnPathRequest, OwnPathSite } from '../../contract/serves-paths.ts';
import { LoginOnRoute } from '../login-on-route.ts';
import type { LoginRuntime } from '../login-runtime.ts';
import { jsonAnswer } from '../pages/page.ts';
import { LoginProblem } from '../provider/login-problem.ts';

const MAX_BODY_BYTES = 65_536;

/** OpenID Connect Back-Channel Logout 1.0: the provider reports that a login is over. */
export async function backChannelLogout(
  runtime: LoginRuntime,
  request: OwnPathRequest,
  site: OwnPathSite,
): Promise<OwnAnswer> {
  const body = await request.readBody(MAX_BODY_BYTES);
  const token = body === null ? null : new URLSearchParams(body.toString()).get('logout_token');
  if (token === null) return refused('the body is not a form with a logout_token');
  const login = moduleOf(token, site);
  if (login === null) return refused('no login of this host has the issuer and audience of the token');
  const { issuer, clientId } = login.config;
  try {
    const verified = await login.client.verifyLogoutToken?.(token);
    if (verified === undefined) return refused('the provider of this login has no back-channel logout');
    const { sub, sid, jti, validUntilMs } = verified;
    // Hashed: the provider chose the text and its length.
    const key = `logout:${hash('sha256', `${issuer}\n${jti}`)}`;
    const ended = await runtime.records.endByProvider({
      issuer,
      clientId,
      identity: sub === null ? null : subjectIdentity(issuer, sub),
      providerSessionId: sid,
      token: { key, validUntilMs },
    });
    if (ended === null) throw new LoginProblem('token', 'logout_token_jti', 'the logout token was used before');
    runtime.count('back_channel_logout');
    runtime.log.info({ request_id: request.id, issuer, ended: ended.length }, 'logged out by the provider');
    return { status: 200, headers: ['cache-control', 'no-store'], body: '' };
  } catch (error) {
    if (!(error instanceof LoginProblem)) throw error;
    runtime.loginFailed(request, login, error);
    // §2.8: status 400 reports that the logout did not happen.
    return refused(error.message);
  }
}

/** Selected by the token's own claims; the module's own keys verify them afterwards. */
function moduleOf(token: string, site: OwnPathSite): LoginOnRoute | null {
  let claims: ReturnType<typeof decodeJwt>;
  try {
    claims = decodeJwt(token);
  } catch {
    return null;
  }
  const audiences = Array.isArray(claims.aud) ? claims.aud : [claims.aud];
  const login = site.modules.find(
    (each) =>
      each instanceof LoginOnRoute && each.config.issuer === claims.iss && audiences.includes(each.config.clientId),
  );
  return login instanceof LoginOnRoute ? login : null;
}

function refused(why: string): OwnAnswer {
  return jsonAnswer(400, { error: 'invalid_request', error_description: why }, [
    'postern-error-code',
    'ERR_POSTERN_LOGOUT_TOKEN',
  ]);
}
