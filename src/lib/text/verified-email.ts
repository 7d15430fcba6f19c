import type { JsonObject } from '../json.ts';

/**
 * Whether the provider states that the e-mail address is verified. An absent claim is not such a statement: Entra never
 * sends it, and there a user's address is whatever an administrator of their tenant wrote ("nOAuth", 2023). Some
 * providers send it as text.
 */
export function isEmailVerified(claims: JsonObject): boolean {
  const said = claims['email_verified'];
  return said === true || said === 'true';
}
