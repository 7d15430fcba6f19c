import { isJsonObject } from '../../../lib/json.ts';
import type { LogoutToken } from '../login-client.ts';
import type { Provider } from '../provider/provider.ts';
import { isSubject } from '../provider/subject.ts';
import { CLOCK_TOLERANCE_SECONDS, tokenProblem, verifyToken } from '../provider/verify-token.ts';

const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout';
const MAX_AGE_SECONDS = 300;
/** From its issue time, with the clock tolerance on both sides: after this it is rejected for its age. */
const LIFETIME_MS = (MAX_AGE_SECONDS + 2 * CLOCK_TOLERANCE_SECONDS) * 1000;
/** Anybody who finds the address can send one: implausible tokens are not parsed. */
const MAX_TOKEN_CHARACTERS = 16_384;
const MAX_ID_CHARACTERS = 255;
const TYPES: readonly string[] = ['jwt', 'application/jwt', 'logout+jwt', 'application/logout+jwt'];

/** OpenID Connect Back-Channel Logout 1.0 §2.6. */
export async function verifyLogoutToken(provider: Provider, clientId: string, token: string): Promise<LogoutToken> {
  if (token.length > MAX_TOKEN_CHARACTERS) throw refused('malformed', 'it is too long');
  const { payload, protectedHeader } = await verifyToken(provider, 'logout_token', token, {
    issuer: provider.issuer,
    audience: clientId,
    maxTokenAge: MAX_AGE_SECONDS,
  });
  const { typ } = protectedHeader;
  if (typ !== undefined && !TYPES.includes(String(typ).toLowerCase())) {
    throw refused('type', 'its header names another kind of token ("typ")');
  }
  const { events, iat, jti, sub, sid } = payload as Readonly<Record<string, unknown>>;
  if (!isJsonObject(events) || !Object.hasOwn(events, LOGOUT_EVENT) || !isJsonObject(events[LOGOUT_EVENT])) {
    throw refused('event', `its "events" has no object at "${LOGOUT_EVENT}"`);
  }
  // An ID token must not be accepted as a logout token.
  if (Object.hasOwn(payload, 'nonce')) throw refused('nonce', 'it has a "nonce", which only ID tokens have');
  if (!isId(jti)) throw refused('jti', 'it has no usable "jti"');
  const isNamed = (sub === undefined || isSubject(sub)) && (sid === undefined || isId(sid));
  if (!isNamed || (sub === undefined && sid === undefined)) {
    throw refused('subject', 'it names no user and no session ("sub", "sid")');
  }
  return {
    sub: isSubject(sub) ? sub : null,
    sid: isId(sid) ? sid : null,
    jti,
    // maxTokenAge makes jose require a number.
    validUntilMs: Number(iat) * 1000 + LIFETIME_MS,
  };
}

function isId(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= MAX_ID_CHARACTERS;
}

function refused(fault: Parameters<typeof tokenProblem>[1], words: string): Error {
  return tokenProblem('logout_token', fault, words);
}
