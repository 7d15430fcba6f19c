import type { JsonValue } from '../json.ts';

/** How names of claims end that hold an address or say something about it, reduced to letters: also `user_email`. */
const ADDRESS_ENDS: readonly string[] = [
  'email',
  'emails',
  'emailaddress',
  'emailaddresses',
  'emailverified',
  'verifiedemail',
];

/**
 * How names end that people choose at many providers, and some choose the address of somebody else (OpenID Connect Core
 * §5.7), and names that end like `primary_mail` and may be about something else.
 */
const CHOSEN_ENDS: readonly string[] = [
  'username',
  'uniquename',
  'upn',
  'userprincipalname',
  'login',
  'nickname',
  'displayname',
  'mail',
  'mails',
  'mailaddress',
  'mailaddresses',
];

/**
 * Whether a rule about this claim would match an address that the provider has not verified. A name counts by the end of
 * its last part, in any spelling: `Email`, `user.email`, `https://example.com/primary_email`; for values that are
 * addresses, by any step of a path: `email.value`.
 */
export function isAddressClaim(name: string, values: readonly JsonValue[]): boolean {
  const parts = name.split(/[./:#[\]"']/).map(lettersOf);
  const last = parts.findLast((part) => part !== '') ?? '';
  if (isAddressName(last)) return true;
  if (!values.some((value) => typeof value === 'string' && value.includes('@'))) return false;
  const isBelowAddress = !name.includes('/') && parts.some(isAddressName);
  return isBelowAddress || last === 'name' || CHOSEN_ENDS.some((end) => last.endsWith(end));
}

function isAddressName(letters: string): boolean {
  return letters === 'mail' || ADDRESS_ENDS.some((end) => letters.endsWith(end));
}

function lettersOf(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '');
}
