import type { JsonObject } from '../../../lib/json.ts';

/**
 * Claims of userinfo and of the ID token. Where both say something, the signed one counts. `email_verified` speaks of the address that
 * came with it: that of userinfo never vouches for the address of the ID token, nor the other way round.
 */
export function mergedClaims(userinfo: JsonObject, signed: JsonObject): JsonObject {
  const { email_verified: _, ...claims } = { ...userinfo, ...signed };
  const { email_verified: isVerified } = signed['email'] === undefined ? userinfo : signed;
  return isVerified === undefined ? claims : { ...claims, email_verified: isVerified };
}
