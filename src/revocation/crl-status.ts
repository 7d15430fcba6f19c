import type { JsonObject } from '../lib/json.ts';
import { isNewer, type ListState, stateOf } from '../lib/pki/revocation-list/revocation-list.ts';
import { authorityCertificate } from './authority-certificate.ts';
import { crlModeOf, crlUrlOf, uploadedLists } from './authority-crl.ts';
import { type DescribedList, describeList } from './stored-crl.ts';
import { hasIssuerName } from './verified-lists.ts';

export const CRL_STATUSES = ['off', 'current', 'stale', 'not_yet_valid', 'missing'] as const;

export interface CrlStatus {
  readonly status: (typeof CRL_STATUSES)[number];
  /** The newest list of the authority itself. */
  readonly list: DescribedList | null;
}

/** `stored` is the record of the fetched list, if any. */
export function crlStatus(authority: JsonObject, stored: JsonObject | undefined, nowMs: number): CrlStatus {
  const found = [uploaded(authority), crlUrlOf(authority) === '' ? null : fetched(stored)].filter(
    (list) => list !== null,
  );
  const list = found.reduce<DescribedList | null>(
    (best, next) => (best === null || isLater(next, best) ? next : best),
    null,
  );
  if (crlModeOf(authority) === 'off') return { status: 'off', list };
  return { status: list === null ? 'missing' : stateOfDescribed(list, nowMs), list };
}

function uploaded(authority: JsonObject): DescribedList | null {
  const lists = uploadedLists(authority);
  if (lists.length === 0) return null;
  const certificate = authorityCertificate(authority);
  const own = lists.filter((list) => hasIssuerName(list, certificate));
  return own.length === 0 ? null : describeList(own.reduce((best, list) => (isNewer(list, best) ? list : best)));
}

function fetched(stored: JsonObject | undefined): DescribedList | null {
  if (typeof stored?.['this_update'] !== 'string' || typeof stored['next_update'] !== 'string') return null;
  return {
    this_update: stored['this_update'],
    next_update: stored['next_update'],
    number: typeof stored['number'] === 'string' ? stored['number'] : null,
    entry_count: Number(stored['entry_count'] ?? 0),
  };
}

function isLater(list: DescribedList, other: DescribedList): boolean {
  return Date.parse(list.this_update) > Date.parse(other.this_update);
}

function stateOfDescribed(list: DescribedList, nowMs: number): ListState {
  return stateOf({ thisUpdateMs: Date.parse(list.this_update), nextUpdateMs: Date.parse(list.next_update) }, nowMs);
}
