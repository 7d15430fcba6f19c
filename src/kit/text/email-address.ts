import { domainToASCII } from 'node:url';
import type { JsonObject, JsonValue } from '../json.ts';

export interface EmailAddress {
  /** In lower case, with the domain in ASCII. */
  readonly text: string;
  readonly domain: string;
  /**
   * Whether it is one plain address. Others count only in deny rules: the domain of `a@evil.example,b@example.com` is
   * not example.com for every reader.
   */
  readonly isPlain: boolean;
}

const PLAIN = /^[^\s\p{Cc}@,;:<>()[\]"\\]+@[^\s\p{Cc}@,;:<>()[\]"\\]+$/u;
/** The Kelvin sign is normalized to an ASCII letter: the address of somebody else. */
const KELVIN = '\u212a';

/** Null for text without a domain. */
export function emailAddress(written: string): EmailAddress | null {
  const text = written.normalize('NFC');
  const at = text.lastIndexOf('@');
  if (at === -1) return null;
  // With its final dot a name is the same one (RFC 1034 §3.1).
  const domain = domainName(text.slice(at + 1).replace(/\.$/, ''));
  if (domain === null) return null;
  const local = text.slice(0, at);
  return {
    text: `${local.toLowerCase()}@${domain}`,
    domain,
    isPlain: PLAIN.test(written) && !written.endsWith('.') && !written.includes(KELVIN),
  };
}

/**
 * In lower case and ASCII (RFC 5891), so that both spellings of an international name are one. Null: not a domain name.
 */
export function domainName(written: string): string | null {
  const text = written.toLowerCase();
  if (/^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/.test(text)) return text;
  // Others are mapped like the host of a URL, which would end at "/", "?" or "#" and decode "%".
  if (!/^[a-z0-9_\-.\P{ASCII}]+$/u.test(text)) return null;
  const ascii = domainToASCII(text);
  return /^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/.test(ascii) ? ascii : null;
}

/**
 * Whether the provider states that the e-mail address is verified. An absent claim is not such a statement: Entra never
 * sends it, and there a user's address is whatever an administrator of their tenant wrote ("nOAuth", 2023). Some
 * providers send it as text.
 */
export function isEmailVerified(claims: JsonObject): boolean {
  const said = claims['email_verified'];
  return said === true || said === 'true';
}

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
 * Whether a rule about this claim would match an address that the provider has not verified. A name counts by the end
 * of its last part, in any spelling: `Email`, `user.email`, `https://example.com/primary_email`; for values that are
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
