import { hash, randomInt, timingSafeEqual } from 'node:crypto';

/** Tokens carry 256 random bits (or a preset of at least 32 characters), so a plain, fast hash is enough. */
export function hashToken(token: string): string {
  return hash('sha256', token, 'hex');
}

/** Takes the same time wherever two texts of one length differ. The length of a secret is none. */
export function isSameSecret(given: string, known: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(known)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** Without letters and digits that look alike, and without U, so that few words appear. */
const ALPHABET = 'ABCDEFGHJKMNPQRSTVWXYZ23456789';
const LENGTH = 8;

/** A code that people type. Eight characters: one of 656 billion. */
export function newCode(): string {
  return Array.from({ length: LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
}

/** As people read it: in two groups. */
export function shownCode(code: string): string {
  return `${code.slice(0, LENGTH / 2)}-${code.slice(LENGTH / 2)}`;
}

/** What a person typed: in any case, with spaces or dashes. */
export function typedCode(text: string): string {
  return text.toUpperCase().replace(/[^A-Z0-9]/g, '');
}

/** One user per issuer and subject (OpenID Connect Core §5.7). */
export function subjectIdentity(issuer: string, subject: string): string {
  return hash('sha256', `${issuer}\n${subject}`);
}

const MAC_LENGTH = 32;

type Mac = (purpose: string, data: string) => string;

/** Secrets of links of one kind: a token, and a MAC of it. */
export interface LinkSecrets {
  create(newToken: (prefix: string) => string, mac: Mac): string;
  /** Whether it has the form of a secret. */
  hasForm(text: string): boolean;
  /** Whether this server made it, with its current secret key. */
  isGenuine(secret: string, mac: Mac): boolean;
}

/**
 * The MAC proves that this server issued the link after its record is gone: so a deleted link is answered as revoked.
 * `prefix` names the purpose wherever the secret appears, and lets scanners for leaked secrets find it.
 */
export function linkSecrets({ prefix, purpose }: { readonly prefix: string; readonly purpose: string }): LinkSecrets {
  const form = new RegExp(`^(${prefix}[A-Za-z0-9_-]{43})\\.([0-9a-f]{${MAC_LENGTH}})$`);
  const macOf = (token: string, mac: Mac): string => mac(purpose, token).slice(0, MAC_LENGTH);
  return {
    create: (newToken, mac) => {
      const token = newToken(prefix);
      return `${token}.${macOf(token, mac)}`;
    },
    hasForm: (text) => form.test(text),
    isGenuine: (secret, mac) => {
      const [, token, given] = form.exec(secret) ?? [];
      return token !== undefined && given !== undefined && isSameSecret(given, macOf(token, mac));
    },
  };
}
