import type { JsonObject } from '../../../lib/json.ts';
import { isEmailVerified } from '../../../lib/text/verified-email.ts';

/** The address as sent upstream; null when it is withheld. */
export interface SentEmail {
  readonly address: string;
  readonly isVerified: boolean;
}

export function sentEmail(
  { email, claims }: { readonly email: string; readonly claims: JsonObject },
  isUnverifiedSent: boolean,
): SentEmail | null {
  const isVerified = isEmailVerified(claims);
  return email !== '' && (isVerified || isUnverifiedSent) ? { address: email, isVerified } : null;
}
