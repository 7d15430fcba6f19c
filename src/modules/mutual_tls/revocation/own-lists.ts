import type { X509Certificate } from 'node:crypto';
import { fieldsOf } from '../../../lib/pki/revocation-list/certificate-fields.ts';
import { ListProblem } from '../../../lib/pki/revocation-list/list-problem.ts';
import { isSignedByLater, isSupported } from '../../../lib/pki/revocation-list/list-signature.ts';
import { type RevocationList, stateOf } from '../../../lib/pki/revocation-list/revocation-list.ts';
import { hasIssuerName, NO_CRL_SIGN, remember } from '../../../revocation/verified-lists.ts';

/**
 * The lists in a response that this authority signed. Lists of other issuers are not taken: nothing here tells whether
 * they are genuine, and a forged one could displace a real one. Throws ListProblem when nothing usable remains.
 */
export async function ownLists(
  lists: readonly RevocationList[],
  authority: X509Certificate,
  nowMs: number,
): Promise<readonly RevocationList[]> {
  if (!fieldsOf(authority).maySignLists) throw new ListProblem(NO_CRL_SIGN);
  const named = lists.filter((list) => hasIssuerName(list, authority));
  if (named.length === 0) throw new ListProblem('comes from another issuer');
  const complete = named.filter(({ isDelta }) => !isDelta);
  if (complete.length === 0) throw new ListProblem('is a delta list: set crl_url to the complete list');
  for (const list of complete) {
    if (!isSupported(list.signature)) throw new ListProblem('is signed with an algorithm that is not supported');
    const isGood = await isSignedByLater(list.signature, authority.publicKey);
    remember(list, authority, isGood);
    if (!isGood) throw new ListProblem('has a signature that is not from this authority');
    if (stateOf(list, nowMs) === 'not_yet_valid') {
      throw new ListProblem(`is not valid before ${new Date(list.thisUpdateMs).toISOString()}: check both clocks`);
    }
  }
  return complete;
}

/**
 * The fetched lists after a new response. A server, or anybody between it and us, can repeat an old list that was once
 * signed: an older one never replaces a newer one. Throws ListProblem.
 */
export function advance(
  current: readonly RevocationList[],
  fetched: readonly RevocationList[],
): readonly RevocationList[] {
  const byScope = new Map(current.map((list) => [scopeOf(list), list]));
  for (const list of fetched) {
    const before = byScope.get(scopeOf(list));
    if (before !== undefined) refuseOlder(list, before);
    byScope.set(scopeOf(list), list);
  }
  return [...byScope.values()];
}

function refuseOlder(list: RevocationList, before: RevocationList): void {
  if (list.number !== null && before.number !== null && list.number < before.number) {
    throw new ListProblem(`has the number ${list.number}, and the list in use has the higher number ${before.number}`);
  }
  if (list.thisUpdateMs < before.thisUpdateMs) {
    const [older, newer] = [list, before].map(({ thisUpdateMs }) => new Date(thisUpdateMs).toISOString());
    throw new ListProblem(`was issued at ${older}, before the list in use (${newer})`);
  }
}

function scopeOf({ covers, distributionPoints }: RevocationList): string {
  return `${covers} ${(distributionPoints ?? []).map((name) => name.toString('hex')).join(' ')}`;
}
