import type { JsonObject } from '../../../lib/json.ts';
import { boundedClaims, textClaim } from '../identity/claims.ts';
import type { GrantDoc } from './grant.ts';

/** As JSON, for access rules: a provider that lists a thousand groups needs 30 KB. */
const MAX_KEPT_BYTES = 65_536;

/** The provider's claims that a login keeps. */
export function grantClaims(claims: JsonObject): Pick<GrantDoc, 'email' | 'name' | 'claims' | 'dropped_claims'> {
  const { kept, dropped } = boundedClaims(claims, MAX_KEPT_BYTES);
  return { email: textClaim(claims, 'email'), name: textClaim(claims, 'name'), claims: kept, dropped_claims: dropped };
}

/** The claims that a user's record keeps. */
export function userFields(claims: JsonObject): JsonObject {
  return {
    username: textClaim(claims, 'preferred_username'),
    email: textClaim(claims, 'email'),
    name: textClaim(claims, 'name'),
  };
}

/** Without those that the provider did not send: a refresh must not erase what is known. */
export function knownFields(claims: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(userFields(claims)).filter(([, text]) => text !== ''));
}
