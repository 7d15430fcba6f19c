import type { JsonObject } from '../lib/json.ts';
import { listsInPem } from '../lib/pki/revocation-list/read-lists.ts';
import type { RevocationList } from '../lib/pki/revocation-list/revocation-list.ts';

export const CRL_MODES = ['off', 'soft', 'hard'] as const;
export type CrlMode = (typeof CRL_MODES)[number];

/** The list that was fetched from `crl_url`, and the state of fetching it: both belong to their authority. */
export const CRL_KIND = 'certificate_authority_crl';
export const CRL_FETCH_KIND = 'certificate_authority_crl_fetch';

export function crlId(authorityId: string): string {
  return `${authorityId}.crl`;
}

export function crlFetchId(authorityId: string): string {
  return `${authorityId}.crl_fetch`;
}

/** Records written before these fields existed have none of them. */
export function crlModeOf(authority: JsonObject): CrlMode {
  const mode = authority['crl_mode'];
  // A mode of a later version would not be weaker than the strictest.
  return mode === undefined || mode === null ? 'off' : (CRL_MODES.find((known) => known === mode) ?? 'hard');
}

export function crlUrlOf(authority: JsonObject): string {
  return typeof authority['crl_url'] === 'string' ? authority['crl_url'] : '';
}

/** Records are immutable, so an upload is parsed once per version of its record. */
const UPLOADED = new WeakMap<JsonObject, readonly RevocationList[]>();

/** The uploaded lists, without delta lists. Throws ListProblem, but not for a text that was accepted on write. */
export function uploadedLists(authority: JsonObject): readonly RevocationList[] {
  const known = UPLOADED.get(authority);
  if (known !== undefined) return known;
  const pem = authority['crl_pem'];
  const lists = typeof pem === 'string' && pem !== '' ? listsInPem(pem).filter(({ isDelta }) => !isDelta) : [];
  UPLOADED.set(authority, lists);
  return lists;
}
