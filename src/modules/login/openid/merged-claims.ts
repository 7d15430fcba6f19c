import type { JsonObject } from '../../../lib/json.ts';

/**
 * Merges the claims of userinfo and of the ID token. Where both have a claim, the signed one wins. `email_verified`
 * belongs to the address that came with it: that of userinfo never vouches for the address of the ID token, nor the
 * reverse.
 */
export function mergedClaims(userinfo: JsonObject, signed: JsonObject): JsonObject {
  const { email_verified: _, ...claims } = { ...userinfo, ...signed };
  const { email_verified: isVerified } = signed['email'] === undefined ? userinfo : signed;
  return isVerified === undefined ? claims : { ...claims, email_verified: isVerified };
}
