import type { JsonObject } from '../../lib/json.ts';
import { isEmailVerified } from '../../lib/text/verified-email.ts';

const MAX_EMAIL = 320;
const MAX_PART = 100;

/**
 * Name of a person in sessions and in the history: the verified email address. At many providers people choose the name
 * claim themselves, and some choose the address of another person, so such a name is marked and has the subject beside it.
 */
export function personName(claims: JsonObject, subject: string): string {
  const { email, name } = claims;
  if (isEmailVerified(claims) && typeof email === 'string' && email !== '') return email.slice(0, MAX_EMAIL);
  const whom = `subject ${visible(subject)}`;
  return typeof name === 'string' && name !== '' ? `unverified "${visible(name)}" (${whom})` : whom;
}

/** Without characters that hide or reorder others, and without the quote that ends the name. */
function visible(text: string): string {
  return text.replace(/[\p{C}\p{Zl}\p{Zp}"]/gu, '').slice(0, MAX_PART);
}
