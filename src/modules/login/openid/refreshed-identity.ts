import { decodeJwt } from 'jose';
import type { JsonObject } from '../../../lib/json.ts';
import type { KnownLogin } from '../login-client.ts';
import { LoginProblem } from '../provider/login-problem.ts';
import { tokenProblem } from '../provider/verify-token.ts';
import { type IdToken, userClaims } from './id-token.ts';

/**
 * OpenID Connect Core §12.2: the same user; and a nonce, which should be absent, only if it equals that of the login.
 */
export function checkSameLogin(token: IdToken, known: KnownLogin): void {
  if (token.subject !== known.subject) {
    throw new LoginProblem('token', 'id_token_subject', 'the refreshed ID token is for another user ("sub")');
  }
  if (token.nonce !== undefined && token.nonce !== nonceOf(known)) {
    throw tokenProblem('id_token', 'nonce', 'the "nonce" of the refreshed ID token differs from that of the login');
  }
}

/** Claims of an ID token that was verified when it arrived. */
export function knownClaims({ idToken }: KnownLogin): JsonObject {
  return idToken === null ? {} : userClaims(decodeJwt(idToken));
}

/** Logins stored before nonces were kept have it in their ID token. */
function nonceOf({ nonce, idToken }: KnownLogin): unknown {
  return nonce ?? (idToken === null ? null : (decodeJwt(idToken)['nonce'] ?? null));
}
