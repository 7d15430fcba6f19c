import { X509Certificate } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { rfc3339 } from '../kit/clock.ts';
import type { JsonObject, JsonValue } from '../kit/json.ts';
import { fieldsOf } from '../kit/pki/certificate-extensions.ts';
import { listsInBytes, listsInPem } from '../kit/pki/read-revocation-lists.ts';
import { isNewer, isSignedBy, type ListState, type RevocationList, stateOf } from '../kit/pki/revocation-list.ts';

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

/** Records are immutable, so their certificate is parsed once. */
const PARSED = new WeakMap<JsonObject, X509Certificate>();

/** The certificate of an authority's record. Throws when it is none, but not for one that was accepted on write. */
export function authorityCertificate(authority: JsonObject): X509Certificate {
  let certificate = PARSED.get(authority);
  if (certificate === undefined) {
    certificate = new X509Certificate(authority['ca_pem'] as string);
    PARSED.set(authority, certificate);
  }
  return certificate;
}

/** Limit for one authority. A list of 200,000 entries has 7 MB. */
export const MAX_CRL_BYTES = 16 * 1024 * 1024;

const compress = promisify(gzip);
const decompress = promisify(gunzip);

/** The record of fetched lists. Compressed, a list takes half: only its serial numbers are random. */
export async function storedCrl(lists: readonly RevocationList[], url: string, nowMs: number): Promise<JsonObject> {
  const encoded: JsonValue[] = [];
  for (const { der } of lists) encoded.push((await compress(der, { level: 1 })).toString('base64'));
  return { url, fetched_at: rfc3339(nowMs), lists: encoded, ...(lists[0] && describeList(lists[0])) };
}

/** The lists of a record. Throws when the record is damaged. */
export async function listsInRecord(doc: JsonObject): Promise<readonly RevocationList[]> {
  const lists: RevocationList[] = [];
  for (const text of doc['lists'] as readonly string[]) {
    const der = await decompress(Buffer.from(text, 'base64'), { maxOutputLength: MAX_CRL_BYTES });
    lists.push(...(await listsInBytes(der)));
  }
  return lists;
}

interface DescribedList {
  readonly this_update: string;
  readonly next_update: string;
  readonly number: string | null;
  readonly entry_count: number;
}

/** Readable without parsing the list. */
function describeList({ thisUpdateMs, nextUpdateMs, number, serials }: RevocationList): DescribedList & JsonObject {
  return {
    this_update: rfc3339(thisUpdateMs),
    next_update: rfc3339(nextUpdateMs),
    number: number === null ? null : number.toString(),
    entry_count: serials.count,
  };
}

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

export const CRL_STATUSES = ['off', 'current', 'stale', 'not_yet_valid', 'missing'] as const;

interface CrlStatus {
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

/** State of fetching one authority's list, in the store: processes take turns, and a restart continues. */
export interface FetchState {
  readonly url: string;
  readonly etag: string;
  readonly lastModified: string;
  /** Last successful request. */
  readonly fetchedAt: string | null;
  readonly error: string | null;
  readonly failures: number;
  readonly nextAtMs: number;
  /** A process is at it until then. */
  readonly claimedUntilMs: number;
}

/** Longer than a request can take: then another process may try. */
export const CLAIM_MS = 45_000;
const RETRY_MS = [10_000, 30_000, 60_000, 300_000, 900_000];
const MIN_INTERVAL_MS = 10_000;
const DAY_MS = 86_400_000;

function freshState(url: string): FetchState {
  return {
    url,
    etag: '',
    lastModified: '',
    fetchedAt: null,
    error: null,
    failures: 0,
    nextAtMs: 0,
    claimedUntilMs: 0,
  };
}

/** The state for this URL: that of another one does not count. */
export function stateFor(doc: JsonObject | undefined, url: string): FetchState {
  if (doc === undefined || doc['url'] !== url) return freshState(url);
  return {
    url,
    etag: textOf(doc['etag']) ?? '',
    lastModified: textOf(doc['last_modified']) ?? '',
    fetchedAt: textOf(doc['fetched_at']),
    error: textOf(doc['error']),
    failures: Number(doc['failures'] ?? 0),
    nextAtMs: Number(doc['next_at_ms'] ?? 0),
    claimedUntilMs: Number(doc['claimed_until_ms'] ?? 0),
  };
}

function textOf(value: JsonValue | undefined): string | null {
  return typeof value === 'string' ? value : null;
}

export function stateDoc(state: FetchState): JsonObject {
  return {
    url: state.url,
    etag: state.etag,
    last_modified: state.lastModified,
    fetched_at: state.fetchedAt,
    error: state.error,
    failures: state.failures,
    next_at_ms: state.nextAtMs,
    claimed_until_ms: state.claimedUntilMs,
  };
}

export function isDue({ nextAtMs, claimedUntilMs }: FetchState, nowMs: number): boolean {
  // A time that is further away than any that is ever set: a clock was wrong, once.
  const isReached = (ms: number, longestMs: number): boolean => ms <= nowMs || ms > nowMs + longestMs;
  return isReached(nextAtMs, 2 * DAY_MS) && isReached(claimedUntilMs, 2 * CLAIM_MS);
}

/** The next request comes after the interval, or when half of the list's remaining time has passed. */
export function afterSuccess(
  state: FetchState,
  { nextUpdateMs, intervalMs, nowMs }: { nextUpdateMs: number; intervalMs: number; nowMs: number },
): FetchState {
  const halfMs = Math.max((nextUpdateMs - nowMs) / 2, MIN_INTERVAL_MS);
  return {
    ...state,
    fetchedAt: rfc3339(nowMs),
    error: null,
    failures: 0,
    nextAtMs: Math.round(nowMs + Math.min(intervalMs, halfMs)),
    claimedUntilMs: 0,
  };
}

/** `random` between 0 and 1 spreads the processes of a fleet by 20 %. */
export function afterFailure(state: FetchState, error: string, nowMs: number, random: number): FetchState {
  const pauseMs = RETRY_MS[Math.min(state.failures, RETRY_MS.length - 1)] as number;
  return {
    ...state,
    error,
    failures: state.failures + 1,
    nextAtMs: Math.round(nowMs + pauseMs * (0.8 + 0.4 * random)),
    claimedUntilMs: 0,
  };
}
