import type { X509Certificate } from 'node:crypto';
import { fieldsOf } from '../lib/pki/revocation-list/certificate-fields.ts';
import { isSignedBy } from '../lib/pki/revocation-list/list-signature.ts';
import type { RevocationList } from '../lib/pki/revocation-list/revocation-list.ts';

export const NO_CRL_SIGN =
  'its certificate may not sign revocation lists (keyUsage lacks cRLSign): issue it again with cRLSign';

/** Issuers of the same name that one list was checked against; more than a few are an attack or a mistake. */
const MAX_REMEMBERED = 8;
const CHECKED = new WeakMap<RevocationList, Map<string, boolean>>();

export function hasIssuerName(list: RevocationList, issuer: X509Certificate): boolean {
  return list.issuer.equals(fieldsOf(issuer).subject);
}

/** Whether this issuer signed the list and was allowed to. Checked once for each issuer. */
export function isIssuedBy(list: RevocationList, issuer: X509Certificate): boolean {
  const known = CHECKED.get(list)?.get(issuer.fingerprint256);
  if (known !== undefined) return known;
  const isGood = fieldsOf(issuer).maySignLists && isSignedBy(list.signature, issuer.publicKey);
  remember(list, issuer, isGood);
  return isGood;
}

/** For a list whose signature was checked on another thread. */
export function remember(list: RevocationList, issuer: X509Certificate, isGood: boolean): void {
  let checked = CHECKED.get(list);
  if (checked === undefined || checked.size >= MAX_REMEMBERED) {
    checked = new Map();
    CHECKED.set(list, checked);
  }
  checked.set(issuer.fingerprint256, isGood);
}
