export const ACCOUNT_KIND = 'service_account';
export const TOKEN_KIND = 'service_account_token';
/** A record of its own: use must neither change the ETag of a token nor be reported as a change of it. */
export const TOKEN_USE_KIND = 'service_account_token_use';

/** Different from the token's id: the store knows parents by id alone. */
export function tokenUseId(tokenId: string): string {
  return `${tokenId}.use`;
}

/** Tokens of service accounts are recognized by it before anything is looked up. */
export const TOKEN_PREFIX = 'pst_';
