import type { Clock } from '../../../kit/clock.ts';
import { isStoreOutage } from '../../../kit/error-text.ts';
import { cookieValues } from '../../../kit/http/cookie-header.ts';
import { LruMap } from '../../../kit/lru-map.ts';
import type { ModuleTimers } from '../../contract/keeps-state.ts';
import type { LoginChange, LoginRecord, LoginRecords, ReplacedKey, SeenQuestion } from '../../contract/login-store.ts';
import type { OwnIssuer } from '../../contract/own-issuer.ts';
import type { BrowserKey, CookieNames, SessionCookies } from '../session-cookie.ts';
import { Grant, type Session, type SessionLimits } from './grant.ts';

/** Keys of ended logins; browsers continue to send them. */
const MAX_KNOWN_ABSENT = 10_000;
/** More than can end between the store's response to a login and its processing here. */
const MAX_KNOWN_ENDED = 10_000;
/** Kept in memory this long after the last use; after that it is read again on demand. */
const KEPT_UNUSED_MS = 15 * 60_000;
/** A key that a login has just replaced is still accepted from that browser: requests in progress carry it. */
const REPLACED_KEY_GRACE_MS = 20_000;

/** A browser's key before a login, and its logins. */
export type PreviousKey = Pick<Session, 'keyHash' | 'grants'>;

/**
 * Browsers' logins in memory, so that a logged-in request reads no database. The store reports every change, so nothing
 * here is older than the store; missing ones are read from it, once for all waiting callers.
 */
export class Sessions {
  readonly #records: LoginRecords;
  readonly #cookies: SessionCookies;
  readonly #clock: Clock;
  readonly #ownIssuer: OwnIssuer | null;
  readonly #byCookie = new Map<string, Session>();
  readonly #byKey = new Map<string, Session>();
  readonly #grants = new Map<string, Grant>();
  readonly #absent = new LruMap<string, true>(MAX_KNOWN_ABSENT);
  readonly #ended = new LruMap<string, true>(MAX_KNOWN_ENDED);
  readonly #loading = new Map<string, Promise<Session | null>>();
  readonly #replacedKeys = new Map<string, ReplacedKey>();
  /** Keys whose logins another thread knew while the store was away. */
  readonly #adopted = new Set<string>();
  /** Increases with every change: a read that started before one may be older than it. */
  #generation = 0;

  constructor(records: LoginRecords, cookies: SessionCookies, clock: Clock, ownIssuer: OwnIssuer | null = null) {
    this.#ownIssuer = ownIssuer;
    this.#records = records;
    this.#cookies = cookies;
    this.#clock = clock;
  }

  get size(): number {
    return this.#byKey.size;
  }

  /** The browser's session. Synchronous when it is in memory, or when the cookies prove nothing. */
  find(lines: readonly string[], names: CookieNames): Session | null | Promise<Session | null> {
    if (lines.length === 0) return null;
    const companions = cookieValues(lines, names.companion);
    if (companions.length === 0) return null;
    const values = cookieValues(lines, names.session);
    for (const value of values) {
      const known = this.#byCookie.get(value);
      if (known !== undefined && companions.includes(known.companionValue)) return known;
    }
    const key = this.#cookies.verify(values, companions);
    return key === null ? null : this.load(key);
  }

  /** The session of a proven key. */
  load(key: BrowserKey): Session | null | Promise<Session | null> {
    const replaced = this.#replacedKeys.get(key.keyHash);
    if (replaced !== undefined) return this.#successor(key, replaced);
    const known = this.#byKey.get(key.keyHash);
    if (known !== undefined) return known;
    if (this.#absent.get(key.keyHash) !== undefined) return null;
    let loading = this.#loading.get(key.keyHash);
    if (loading === undefined) {
      loading = this.#read(key).finally(() => this.#loading.delete(key.keyHash));
      this.#loading.set(key.keyHash, loading);
    }
    return loading;
  }

  /** Adds a newly stored login, and remembers which key it replaced. */
  async loggedIn(key: BrowserKey, records: readonly LoginRecord[], previous: PreviousKey | null): Promise<void> {
    const replaced = previous === null ? null : this.#replacedBy(key, previous);
    if (replaced !== null) this.keyReplaced(replaced);
    this.#keep(key, records);
    if (replaced !== null) await this.#records.threads?.keyReplaced(replaced);
  }

  /** By a login in this thread or another one. */
  keyReplaced(replaced: ReplacedKey): void {
    this.#replacedKeys.set(replaced.keyHash, replaced);
    this.#forget(replaced.keyHash);
  }

  /** Applies changes of this process. A failed read is repeated by the follower, who hears of them too. */
  changed(changes: readonly LoginChange[]): void {
    this.follow(changes).catch(() => {});
  }

  /**
   * Applies changes by any process. Resolves when what changed was read again; if it could not be, the caller repeats
   * it. Without the database a login goes on as it was known, unless its browser has a new key.
   */
  async follow(changes: readonly LoginChange[]): Promise<void> {
    const reads: Promise<void>[] = [];
    this.#generation += 1;
    for (const { op, sessionId, keyHash } of changes) {
      const grant = this.#grants.get(sessionId);
      if (op === 'end') {
        this.#ended.set(sessionId, true);
        if (grant !== undefined) this.#end(grant);
      } else {
        this.#absent.delete(keyHash);
        // Now, not after the read: its old key is void.
        if (grant !== undefined && grant.keyHash !== keyHash) this.#forget(grant.keyHash);
        if (grant !== undefined) reads.push(this.readAgain(grant));
      }
    }
    await Promise.all(reads);
  }

  /** What is known here, for other threads. */
  seen(question: SeenQuestion): readonly LoginRecord[] {
    const grant = 'sessionId' in question ? this.#grants.get(question.sessionId) : undefined;
    const grants = 'keyHash' in question ? this.#byKey.get(question.keyHash)?.grants : grant && [grant];
    return grants?.filter(({ isEnded }) => !isEnded).map((known) => known.record()) ?? [];
  }

  /** Hears when other threads of this process have last seen a login used. */
  async askThreads(grant: Grant): Promise<void> {
    const seen = (await this.#records.threads?.seen({ sessionId: grant.id })) ?? [];
    for (const { lastActiveMs } of seen) grant.lastActiveMs = Math.max(grant.lastActiveMs, lastActiveMs);
  }

  /** The store was asked for changes, and answered. Changes may have been missed before a login was adopted. */
  storeAnswers(): void {
    for (const keyHash of this.#adopted) this.#forget(keyHash);
    this.#adopted.clear();
  }

  /** The store does not report when a login was last used. */
  async readAgain(grant: Grant): Promise<void> {
    const before = grant.keyHash;
    const record = await this.#records.getSession(grant.id);
    if (record === null) {
      this.#end(grant);
      return;
    }
    grant.update(record);
    // The browser has another key now: a request with the old one must be looked up.
    if (record.keyHash !== before) this.#forget(before);
  }

  /**
   * Some changes were missed: everything is read again on use; streams in progress are re-evaluated with the current
   * state.
   */
  async missedChanges(): Promise<void> {
    this.#generation += 1;
    this.#byCookie.clear();
    this.#byKey.clear();
    this.#absent.clear();
    this.#ended.clear();
    await Promise.all([...this.#grants.values()].map((grant) => this.readAgain(grant)));
  }

  /** Drops entries that have not been used for a while. */
  sweep(): void {
    const now = this.#clock.nowMs();
    for (const [keyHash, { untilMs }] of this.#replacedKeys) if (untilMs <= now) this.#replacedKeys.delete(keyHash);
    for (const session of this.#byKey.values()) {
      if (session.grants.every((grant) => isUnused(grant, now))) this.#forget(session.keyHash);
    }
    for (const [id, grant] of this.#grants) {
      if (isUnused(grant, now) && !this.#byKey.has(grant.keyHash)) this.#grants.delete(id);
    }
  }

  /**
   * What a replaced key still opens: no more than before. An attacker who prepared a browser with a key must not see
   * the next user's login.
   */
  #successor(key: BrowserKey, { by, opened, untilMs }: ReplacedKey): Session | null | Promise<Session | null> {
    if (untilMs <= this.#clock.nowMs()) return null;
    // Several tabs that return together replace it more than once.
    let last = by;
    for (let next = this.#replacedKeys.get(last); next !== undefined; next = this.#replacedKeys.get(last))
      last = next.by;
    const session = this.#byKey.get(last);
    if (session === undefined)
      return this.#records.threads === null ? null : this.#successorElsewhere(key, last, opened);
    const grants = session.grants.filter((grant) => opened.includes(whatItOpens(grant)));
    return grants.length === session.grants.length ? session : { ...key, grants };
  }

  /** Another thread has logged the browser in, and it has not sent its new key to this one. */
  async #successorElsewhere(key: BrowserKey, last: string, opened: readonly string[]): Promise<Session | null> {
    const all = this.#grantsOf(await this.#storedOrSeen(last));
    const grants = all.filter((grant) => opened.includes(whatItOpens(grant)));
    // Not kept: the old key would open all of it.
    return { ...key, keyHash: grants.length === all.length ? last : key.keyHash, grants };
  }

  #replacedBy({ keyHash: by }: BrowserKey, { keyHash, grants }: PreviousKey): ReplacedKey {
    return { keyHash, by, opened: grants.map(whatItOpens), untilMs: this.#clock.nowMs() + REPLACED_KEY_GRACE_MS };
  }

  #keep(key: BrowserKey, records: readonly LoginRecord[]): Session {
    const session: Session = { ...key, grants: this.#grantsOf(records) };
    this.#byKey.set(key.keyHash, session);
    this.#byCookie.set(key.cookieValue, session);
    return session;
  }

  /** The report of an end can overtake the response that it concerns. */
  #grantsOf(records: readonly LoginRecord[]): Grant[] {
    return records.filter(({ id }) => this.#ended.get(id) === undefined).map((record) => this.#grantOf(record));
  }

  #grantOf(record: LoginRecord): Grant {
    const known = this.#grants.get(record.id);
    if (known !== undefined) {
      // Another process has moved it, and the browser arrived before the report.
      if (known.keyHash !== record.keyHash) this.#forget(known.keyHash);
      known.update(record);
      return known;
    }
    const grant = new Grant(record, this.#ownIssuer);
    this.#grants.set(record.id, grant);
    return grant;
  }

  async #read(key: BrowserKey): Promise<Session | null> {
    for (;;) {
      const generation = this.#generation;
      const records = await this.#storedOrSeen(key.keyHash);
      // Something changed in the meantime, perhaps this: the data read may already be obsolete.
      if (generation !== this.#generation) continue;
      if (records.length > 0) return this.#keep(key, records);
      this.#absent.set(key.keyHash, true);
      return null;
    }
  }

  /** Without the store, a login goes on as another thread knows it. */
  async #storedOrSeen(keyHash: string): Promise<readonly LoginRecord[]> {
    try {
      return await this.#records.findByKey(keyHash);
    } catch (error) {
      if (!isStoreOutage(error) || this.#records.threads === null) throw error;
      const seen = await this.#records.threads.seen({ keyHash });
      if (seen.length === 0) throw error;
      this.#adopted.add(keyHash);
      return seen;
    }
  }

  #end(grant: Grant): void {
    grant.isEnded = true;
    this.#grants.delete(grant.id);
    const session = this.#byKey.get(grant.keyHash);
    if (session === undefined) return;
    session.grants = session.grants.filter((other) => other !== grant);
    if (session.grants.length === 0) this.#forget(grant.keyHash);
  }

  #forget(keyHash: string): void {
    const session = this.#byKey.get(keyHash);
    this.#byKey.delete(keyHash);
    if (session !== undefined) this.#byCookie.delete(session.cookieValue);
  }
}

function isUnused(grant: Grant, nowMs: number): boolean {
  return nowMs - Math.max(grant.lastActiveMs, grant.heldAtMs) > KEPT_UNUSED_MS;
}

function whatItOpens({ userId, edgeId, host, issuer, clientId }: Grant): string {
  return JSON.stringify([userId, edgeId, host, issuer, clientId]);
}

/** After a crash, `last_active` in the store is early by at most this. */
const ACTIVITY_INTERVAL_MS = 10_000;
/** More in one transaction would block other writers for too long. */
const MAX_ROWS = 500;

/** Writes when logins were last used: in batches, periodically, and never on a request's path. */
export class Activity {
  readonly #records: LoginRecords;
  readonly #onProblem: (error: unknown) => void;
  #dirty = new Map<Grant, SessionLimits>();
  #writing: Promise<void> = Promise.resolve();
  readonly #stop: () => void;

  constructor(records: LoginRecords, timers: ModuleTimers, onProblem: (error: unknown) => void) {
    this.#records = records;
    this.#onProblem = onProblem;
    this.#stop = timers.every(ACTIVITY_INTERVAL_MS, () => void this.flush());
  }

  used(grant: Grant, limits: SessionLimits, nowMs: number): void {
    if (nowMs > grant.lastActiveMs) grant.lastActiveMs = nowMs;
    this.#dirty.set(grant, limits);
  }

  /** Failed writes are retried with the next batch. */
  flush(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#write());
    return this.#writing;
  }

  async close(): Promise<void> {
    this.#stop();
    await this.flush();
  }

  async #write(): Promise<void> {
    const dirty = this.#dirty;
    if (dirty.size === 0) return;
    this.#dirty = new Map();
    const rows = [...dirty]
      .filter(([grant]) => !grant.isEnded)
      .map(([grant, limits]) => ({
        id: grant.id,
        lastActiveMs: grant.lastActiveMs,
        expiresAtMs: grant.expiresAtMs(limits),
      }));
    try {
      for (let at = 0; at < rows.length; at += MAX_ROWS) await this.#records.touch(rows.slice(at, at + MAX_ROWS));
    } catch (error) {
      for (const [grant, limits] of dirty) if (!this.#dirty.has(grant)) this.#dirty.set(grant, limits);
      this.#onProblem(error);
    }
  }
}
