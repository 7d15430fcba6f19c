import type { JsonObject } from '../../../lib/json.ts';
import { boundedClaims, textClaim } from '../identity/claims.ts';
import type { GrantDoc } from './grant.ts';

/** The provider's claims that a login keeps. */
export function grantClaims(claims: JsonObject): Pick<GrantDoc, 'email' | 'name' | 'claims'> {
  return { email: textClaim(claims, 'email'), name: textClaim(claims, 'name'), claims: boundedClaims(claims) };
}

/** The claims that a user's record keeps. */
export function userFields(claims: JsonObject): JsonObject {
  return {
    username: textClaim(claims, 'preferred_username'),
    email: textClaim(claims, 'email'),
    name: textClaim(claims, 'name'),
  };
}
