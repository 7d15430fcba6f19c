import type { JsonObject } from '../../../lib/json.ts';
import { boundedClaims, textClaim } from '../identity/claims.ts';
import type { GrantDoc } from './grant.ts';

/** What a login holds of the provider's claims. */
export function grantClaims(claims: JsonObject): Pick<GrantDoc, 'email' | 'name' | 'claims'> {
  return { email: textClaim(claims, 'email'), name: textClaim(claims, 'name'), claims: boundedClaims(claims) };
}

/** What a user's record holds of them. */
export function userFields(claims: JsonObject): JsonObject {
  return {
    username: textClaim(claims, 'preferred_username'),
    email: textClaim(claims, 'email'),
    name: textClaim(claims, 'name'),
  };
}
