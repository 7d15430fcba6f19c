/** What every token starts with: it names the purpose wherever the token appears. */
export const CREDENTIAL_PREFIX = 'postern_cr_';

/** 256 random bits after the prefix. */
export function isCredentialToken(text: string): boolean {
  return text.startsWith(CREDENTIAL_PREFIX) && /^[A-Za-z0-9_-]{43}$/.test(text.slice(CREDENTIAL_PREFIX.length));
}
