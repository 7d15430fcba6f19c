import type { X509Certificate } from 'node:crypto';
import { FetchProblem } from '../../kit/http/fetch-problem.ts';
import type { GuardedFetch } from '../../kit/http/guarded-fetch.ts';
import { publicAddressGuard } from '../../kit/net/cidr.ts';
import { fieldsOf, ListProblem } from '../../kit/pki/certificate-extensions.ts';
import { listsInBytes } from '../../kit/pki/read-revocation-lists.ts';
import { isSignedByLater, isSupported, type RevocationList, stateOf } from '../../kit/pki/revocation-list.ts';
import {
  afterFailure,
  afterSuccess,
  authorityCertificate,
  CLAIM_MS,
  CRL_FETCH_KIND,
  CRL_KIND,
  crlFetchId,
  crlId,
  type FetchState,
  hasIssuerName,
  isDue,
  MAX_CRL_BYTES,
  NO_CRL_SIGN,
  remember,
  stateDoc,
  stateFor,
  storedCrl,
} from '../authority-crl.ts';
import type { FollowedRecord, OwnRecordPut, RuntimePorts } from '../contract/keeps-state.ts';

/** Validators of the response in use (RFC 9110 §8.8), sent back to ask for something newer. */
interface Validators {
  readonly etag: string;
  readonly lastModified: string;
}

type FetchedCrl =
  | { readonly isUnchanged: true }
  | { readonly isUnchanged: false; readonly bytes: Buffer; readonly validators: Validators };

const MAX_VALIDATOR_LENGTH = 512;

/** Requests a list. Throws FetchProblem or ListProblem, with messages for the operator. */
async function fetchCrl(fetch: GuardedFetch, url: string, known: Validators | null): Promise<FetchedCrl> {
  const response = await fetch(url, {
    headers: {
      accept: 'application/pkix-crl, application/x-pem-file, */*;q=0.5',
      ...(known !== null && known.etag !== '' && { 'if-none-match': known.etag }),
      ...(known !== null && known.lastModified !== '' && { 'if-modified-since': known.lastModified }),
    },
  });
  const { status } = response;
  if (status === 304 && known !== null) return { isUnchanged: true };
  if (status >= 300 && status < 400) {
    throw new ListProblem(`was answered with a redirect (${status}), which is not followed: set crl_url to its target`);
  }
  if (status !== 200) throw new ListProblem(`was answered with status ${status}`);
  return {
    isUnchanged: false,
    bytes: Buffer.from(await response.arrayBuffer()),
    validators: {
      etag: validator(response.headers.get('etag')),
      lastModified: validator(response.headers.get('last-modified')),
    },
  };
}

function validator(value: string | null): string {
  return value !== null && value.length <= MAX_VALIDATOR_LENGTH && /^[\x20-\x7e]*$/.test(value) ? value : '';
}

/** For `crl_error`: one line of limited length, without anything that the server chose. */
function explain(error: unknown): string {
  if (error instanceof ListProblem) return `the list ${error.message}`;
  if (error instanceof FetchProblem) {
    const isRefused = error.reason === 'address_refused';
    const advice = isRefused ? '. The operator can allow it with the setting crl_allow_cidrs' : '';
    return `the list could not be fetched: ${error.explanation}${advice}`;
  }
  return 'the list could not be processed';
}

/**
 * The lists in a response that this authority signed. Lists of other issuers are not taken: nothing here tells whether
 * they are genuine, and a forged one could displace a real one. Throws ListProblem when nothing usable remains.
 */
async function ownLists(
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
function advance(current: readonly RevocationList[], fetched: readonly RevocationList[]): readonly RevocationList[] {
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

/** Below the claim on the authority. */
const TIMEOUT_MS = 30_000;
/** More wait until one is free. */
const MAX_AT_ONCE = 4;
/** After another process claimed the same list: its result arrives through the store. */
const LOST_CLAIM_MS = 5_000;
/** After a failure of the store. */
const PAUSE_MS = 30_000;

interface CrlFetcherOptions {
  readonly intervalMs: number;
  readonly allowedCidrs: readonly string[];
  /** The lists in use that were fetched. */
  current(authorityId: string): readonly RevocationList[];
  /** Another request may start. */
  onFree(): void;
}

/** Fetches lists and stores them, for all processes. Each process follows the store, also the one that fetched. */
export class CrlFetcher {
  readonly #ports: RuntimePorts;
  readonly #options: CrlFetcherOptions;
  readonly #fetch: GuardedFetch;
  readonly #count: (result: string) => void;
  readonly #running = new Map<string, Promise<void>>();
  readonly #lostUntilMs = new Map<string, number>();
  readonly #closing = new AbortController();
  #pausedUntilMs = 0;

  constructor(ports: RuntimePorts, options: CrlFetcherOptions) {
    this.#ports = ports;
    this.#options = options;
    const fetch = ports.network.createFetch({
      // As for event destinations and lists: a key that may write authorities chooses the URL, and reads what came of
      // it.
      isAddressAllowed: publicAddressGuard(options.allowedCidrs),
      // Lists are signed, and most are published over plain http so that checking them needs no other check (RFC 5280
      // §8).
      isPlainHttpAllowed: () => true,
      maxBytes: MAX_CRL_BYTES,
      timeoutMs: TIMEOUT_MS,
    });
    this.#fetch = (url, init) => fetch(url, { ...init, signal: this.#closing.signal });
    this.#count = ports.counter({
      name: 'postern_crl_fetches_total',
      help: 'Requests for revocation lists, by result.',
      label: 'result',
    });
  }

  /** Starts a request if it is time for one. */
  look(authority: FollowedRecord, url: string): void {
    const key = `${authority.id} ${url}`;
    const nowMs = this.#ports.clock.nowMs();
    if (nowMs < Math.max(this.#pausedUntilMs, this.#lostUntilMs.get(key) ?? 0)) return;
    if (this.#closing.signal.aborted || this.#running.has(key) || this.#running.size >= MAX_AT_ONCE) return;
    const seen = this.#ports.followed.get(CRL_FETCH_KIND, crlFetchId(authority.id));
    const state = stateFor(seen?.doc, url);
    if (!isDue(state, nowMs)) return;
    const run = this.#refresh(authority, state, seen)
      .then((isClaimed) => {
        if (isClaimed) this.#lostUntilMs.delete(key);
        else this.#lostUntilMs.set(key, this.#ports.clock.nowMs() + LOST_CLAIM_MS);
      })
      .catch((err: unknown) => {
        // The store failed, or this process may no longer write to it.
        this.#pausedUntilMs = this.#ports.clock.nowMs() + PAUSE_MS;
        this.#ports.log.error({ err }, 'failed to store a revocation list');
      })
      .finally(() => {
        this.#running.delete(key);
        this.#options.onFree();
      });
    this.#running.set(key, run);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#running.values());
  }

  /** Whether this process could claim it. */
  async #refresh(authority: FollowedRecord, state: FetchState, seen: FollowedRecord | undefined): Promise<boolean> {
    const { clock, followed, log } = this.#ports;
    const claim = this.#statePut(authority, { ...state, claimedUntilMs: clock.nowMs() + CLAIM_MS }, seen);
    if (!(await followed.write([claim]))) return false;
    const claimed = followed.get(claim.kind, claim.id);
    const stored = followed.get(CRL_KIND, crlId(authority.id));
    const puts: OwnRecordPut[] = [];
    let result: string;
    try {
      const current = this.#options.current(authority.id);
      const known = stored === undefined || current.length === 0 || state.fetchedAt === null ? null : state;
      const fetched = await fetchCrl(this.#fetch, state.url, known);
      const lists = fetched.isUnchanged ? current : await this.#listsIn(fetched, authority, current);
      const isNew = lists.some(({ digest }) => !current.some((list) => list.digest === digest));
      if (isNew || stored === undefined) {
        const doc = await storedCrl(lists, state.url, clock.nowMs());
        puts.push({ kind: CRL_KIND, id: crlId(authority.id), parent: authority.id, doc, seen: stored });
      }
      const next = { ...state, ...(fetched.isUnchanged ? {} : fetched.validators) };
      const nextUpdateMs = Math.min(...lists.map((list) => list.nextUpdateMs));
      const { intervalMs } = this.#options;
      puts.push(
        this.#statePut(authority, afterSuccess(next, { nextUpdateMs, intervalMs, nowMs: clock.nowMs() }), claimed),
      );
      result = isNew ? 'updated' : 'unchanged';
    } catch (error) {
      if (this.#closing.signal.aborted) return true;
      const reason = explain(error);
      log.warn(
        { certificate_authority: authority.id, url: state.url, why: reason },
        'failed to fetch a revocation list',
      );
      puts.push(this.#statePut(authority, afterFailure(state, reason, clock.nowMs(), Math.random()), claimed));
      result = 'failed';
    }
    // Not written if the authority was deleted, or has another URL by now.
    if (await followed.write(puts)) this.#count(result);
    return true;
  }

  async #listsIn(
    fetched: FetchedCrl & { readonly isUnchanged: false },
    authority: FollowedRecord,
    current: readonly RevocationList[],
  ): Promise<readonly RevocationList[]> {
    const lists = await listsInBytes(fetched.bytes);
    const own = await ownLists(lists, authorityCertificate(authority.doc), this.#ports.clock.nowMs());
    return advance(current, own);
  }

  #statePut(authority: FollowedRecord, state: FetchState, seen: FollowedRecord | undefined): OwnRecordPut {
    return { kind: CRL_FETCH_KIND, id: crlFetchId(authority.id), parent: authority.id, doc: stateDoc(state), seen };
  }
}
