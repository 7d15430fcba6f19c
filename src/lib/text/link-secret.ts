import { isSameSecret } from './is-same-secret.ts';

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
