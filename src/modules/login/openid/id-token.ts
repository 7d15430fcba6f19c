import { isJsonObject, type JsonObject, type JsonValue } from '../../../kit/json.ts';
import type { LogoutToken } from '../login-client.ts';
import type { Provider } from '../provider/providers.ts';
import { CLOCK_TOLERANCE_SECONDS, isSubject, tokenProblem, verifyToken } from '../provider/verify-token.ts';

export interface IdToken {
  readonly subject: string;
  readonly sid: string | null;
  readonly claims: JsonObject;
  /** As received; absent in most tokens of a refresh. */
  readonly nonce: unknown;
}

/** Protocol fields that say nothing about the user. */
const PROTOCOL_CLAIMS: ReadonlySet<string> = new Set([
  'iss',
  'aud',
  'azp',
  'exp',
  'iat',
  'nbf',
  'jti',
  'nonce',
  'at_hash',
  'c_hash',
  's_hash',
  'sid',
]);

/**
 * Checks the signature, which openid-client does not check for tokens from the token endpoint, and what it checks less
 * strictly than OpenID Connect Core §3.1.3.7. It has already compared the nonce.
 */
export async function verifyIdToken(provider: Provider, clientId: string, token: string): Promise<IdToken> {
  const { payload, claims } = await verifyToken(provider, 'id_token', token, {
    issuer: provider.issuer,
    audience: clientId,
    requiredClaims: ['sub', 'iat', 'exp'],
  });
  const { sub, azp, aud, iat, sid } = payload;
  if (azp !== undefined ? azp !== clientId : Array.isArray(aud) && aud.length > 1) {
    throw tokenProblem('id_token', 'authorized_party', 'it was issued to another client ("azp")');
  }
  const nowSeconds = provider.ports.clock.nowMs() / 1000;
  if (typeof iat !== 'number' || iat > nowSeconds + CLOCK_TOLERANCE_SECONDS) {
    throw tokenProblem('id_token', 'issued_at', 'it was issued in the future ("iat"): compare the clocks');
  }
  if (!isSubject(sub)) {
    throw tokenProblem('id_token', 'subject', '"sub" is not 1 to 255 printable ASCII characters');
  }
  return {
    subject: sub,
    sid: typeof sid === 'string' && sid !== '' ? sid : null,
    claims: userClaims(claims),
    nonce: payload['nonce'],
  };
}

/** Claims about the user, including `sub`. The payload comes from JSON.parse. */
export function userClaims(payload: object): JsonObject {
  const fields: readonly [string, JsonValue][] = Object.entries(payload);
  return Object.fromEntries(fields.filter(([name]) => !PROTOCOL_CLAIMS.has(name)));
}

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
