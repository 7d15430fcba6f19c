import type { JsonObject, JsonValue } from '../../../lib/json.ts';
import type { Provider } from '../provider/provider.ts';
import { isSubject } from '../provider/subject.ts';
import { CLOCK_TOLERANCE_SECONDS, tokenProblem, verifyToken } from '../provider/verify-token.ts';

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
