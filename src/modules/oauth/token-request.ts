import { FetchProblem } from '../../lib/http/fetch-problem.ts';
import type { GuardedFetch } from '../../lib/http/guarded-fetch.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';
import { isBusyStatus, statusProblem } from '../login/provider/ask-provider.ts';
import { foreignText, LoginProblem, unansweredProblem } from '../login/provider/login-problem.ts';

const MAX_TOKEN = 16_384;
/** GitHub has words of its own, with status 200. */
const GRANT_ERRORS: readonly unknown[] = ['invalid_grant', 'bad_verification_code', 'bad_refresh_token'];
const CLIENT_ERRORS: readonly unknown[] = ['invalid_client', 'unauthorized_client', 'incorrect_client_credentials'];

export interface ProviderTokens {
  readonly accessToken: string;
  readonly refreshToken: string | null;
  readonly idToken: string | null;
  readonly expiresInSeconds: number | null;
}

/** RFC 6749 §4.1.3 and §6, as the eight providers implement it. */
export async function requestTokens(
  fetch: GuardedFetch,
  url: string,
  fields: Readonly<Record<string, string>>,
): Promise<ProviderTokens> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      accept: 'application/json',
      'content-type': 'application/x-www-form-urlencoded',
      'user-agent': 'postern',
    },
    body: new URLSearchParams(fields),
  }).catch((error: unknown) => {
    throw error instanceof FetchProblem ? unansweredProblem(error) : error;
  });
  if (isBusyStatus(response.status)) throw statusProblem(url, response.status);
  const body: unknown = await response.json().catch(() => null);
  if (!isJsonObject(body)) {
    if (response.status !== 200) throw statusProblem(url, response.status);
    throw new LoginProblem('provider', 'malformed_answer', `${url} returned no token response in JSON`);
  }
  const accessToken = token(body['access_token']);
  if (response.status === 200 && accessToken !== null) {
    const seconds = Number(body['expires_in'] ?? Number.NaN);
    return {
      accessToken,
      refreshToken: token(body['refresh_token']),
      idToken: token(body['id_token']),
      expiresInSeconds: Number.isFinite(seconds) && seconds >= 0 ? seconds : null,
    };
  }
  throw tokenError(url, body, Object.values(fields));
}

/** RFC 6749 §A.12: printable ASCII. Other characters cannot be sent in a header. */
function token(value: JsonValue | undefined): string | null {
  return typeof value === 'string' && value.length <= MAX_TOKEN && /^[\x20-\x7e]+$/.test(value) ? value : null;
}

function tokenError(url: string, body: JsonObject, secrets: readonly string[]): LoginProblem {
  const { error } = body;
  // Facebook's is an object, and Twitch has only a message.
  const words = isJsonObject(error) ? error['message'] : (body['error_description'] ?? body['message']);
  const code = typeof error === 'string' ? `"${foreignText(error, secrets)}"` : 'an error';
  const said = `${url} returned ${code}${typeof words === 'string' ? ` (${foreignText(words, secrets)})` : ''}`;
  if (GRANT_ERRORS.includes(error)) return new LoginProblem('invalid_grant', 'invalid_grant', said);
  return CLIENT_ERRORS.includes(error)
    ? new LoginProblem('configuration', 'client_rejected', `${said}: check client_id and client_secret`)
    : new LoginProblem('provider', 'token_error', said);
}
