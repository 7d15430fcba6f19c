import type { JsonValue } from './json.ts';

/** Names of claims that hold an address or say something about it, reduced to letters. */
const ADDRESS_NAMES: ReadonlySet<string> = new Set([
  'email',
  'emails',
  'emailaddress',
  'emailaddresses',
  'emailverified',
  'isemailverified',
  'verifiedemail',
  'mail',
]);

/** People choose these at many providers, and some choose the address of somebody else (OpenID Connect Core §5.7). */
const CHOSEN_NAMES: ReadonlySet<string> = new Set([
  'preferredusername',
  'username',
  'uniquename',
  'upn',
  'userprincipalname',
  'login',
  'nickname',
  'name',
  'displayname',
]);

/**
 * Whether a rule about this claim would match an address that the provider has not verified. A name counts by its last
 * part, in any spelling: `Email`, `user.email`, `https://example.com/email`.
 */
export function isAddressClaim(name: string, values: readonly JsonValue[]): boolean {
  const last = lettersOf(name.split(/[./:#[\]"']/).findLast((part) => lettersOf(part) !== '') ?? '');
  if (ADDRESS_NAMES.has(last)) return true;
  return CHOSEN_NAMES.has(last) && values.some((value) => typeof value === 'string' && value.includes('@'));
}

function lettersOf(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '');
}
