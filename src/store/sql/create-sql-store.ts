import { mapInSlices } from '../../kit/async/slices.ts';
import { type Clock, systemClock } from '../../kit/clock.ts';
import { PosternError } from '../../kit/errors.ts';
import { type Keyring, purposeSeals } from '../keyring.ts';
import type {
  Change,
  ChangesSince,
  CommitFollower,
  CommitListener,
  CommitResult,
  RecordKey,
  RecordPut,
  Store,
  StoredRecord,
  WriteSet,
} from '../store.ts';
import type { CommitMark } from './commit-rows.ts';
import { createDeliveryStore, createEventStore } from './deliveries/delivery-store.ts';
import { createHistoryStore } from './history-store.ts';
import { createIdentityStore } from './identity-store.ts';
import { notifyListeners, prepareFollowers, ToldTogether } from './listeners.ts';
import { createLoginStore } from './logins/login-store.ts';
import { createNodeStore } from './node-store.ts';
import { createPresenceStore } from './presence-store.ts';
import type { Programs } from './programs.ts';
import { IDEMPOTENCY_WINDOW_MS } from './records/record-rows.ts';
import {
  type AppliedChange,
  type ApplyResult,
  isLargeWriteSet,
  keyText,
  openRecord,
  RecentSeals,
  STORE_QUEUE,
  sealInSlices,
  sealWriteSet,
} from './seal.ts';
import type { SqlEngine } from './sql-engine.ts';
import type { TimeAt } from './statement.ts';

export interface SqlStoreOptions {
  readonly engine: SqlEngine<Programs>;
  readonly keyring: Keyring;
  readonly accountId: string;
  readonly clock?: Clock | undefined;
  /** See Store. */
  readonly loss?: string | null;
  /** How far back the change feed reaches after a prune. */
  readonly keepRevisions?: number | undefined;
}

/** A follower that is further behind reads everything again, which costs about as much as this many changes. */
const DEFAULT_KEEP_REVISIONS = 10_000;
const RECORDS_PER_BATCH = 1000;
const MAX_CHANGES_AT_ONCE = 250;

/**
 * The part of the store that both engines share: seals and opens, notifies listeners, and leaves the database to the
 * engine.
 */
export function createSqlStore(options: SqlStoreOptions): Store {
  const { engine, keyring, accountId, clock = systemClock } = options;
  const { keepRevisions = DEFAULT_KEEP_REVISIONS, loss = null } = options;
  // An injected clock is used everywhere: tests control it.
  const isDatabaseTime = engine.name === 'postgres' && clock === systemClock;
  const timeAt: TimeAt = (nowMs = clock.nowMs()) => ({ nowMs, isDatabaseTime });
  const seals = new RecentSeals(keyring);
  const deliveries = createDeliveryStore(engine, timeAt);
  const logins = createLoginStore(engine, keyring, timeAt);
  const news = new CommitNews(keyring);
  engine.onForeignCommit(() => news.foreignCommit());
  engine.compareWith(() => news.appliedRevision());
  const commits = new Commits({ engine, keyring, seals, timeAt, news, logins, deliveries });
  return {
    engine: engine.name,
    sharing: engine.sharing,
    loss,
    accountId,
    secretKeyIds: keyring.keyIds,
    get secretKeyId() {
      return keyring.currentKeyId;
    },
    useSecretKey: (keyId) => keyring.use(keyId),
    commit: (writeSet) => commits.commit(writeSet),
    mark: () => markOf(engine),
    ...purposeSeals(keyring),
    currentRevision: () => engine.read('readRevision'),
    readAll: (onBatch) => readAllRecords(engine, keyring, onBatch),
    changesSince: (revision) => changesSince(engine, keyring, revision),
    onCommitted: (listener, follower) => news.onCommitted(listener, follower),
    onReset: (reload) => engine.history.onReset(reload),
    findIdempotency: async (scope) => {
      const found = await engine.read('readIdempotency', scope);
      return found === null || found.createdAtMs <= clock.nowMs() - IDEMPOTENCY_WINDOW_MS ? null : found;
    },
    events: createEventStore(engine, deliveries.announce),
    presence: createPresenceStore(engine, timeAt),
    nodes: createNodeStore(engine, timeAt),
    logins: logins.store,
    deliveries: deliveries.store,
    history: createHistoryStore(engine, seals),
    identity: createIdentityStore(engine, keyring, timeAt, logins.announce),
    prune: (nowMs) => engine.write('prune', timeAt(nowMs), keepRevisions),
    health: () => engine.monitor.health,
    onHealth: (listener) => engine.monitor.onChange(listener),
    stats: () => ({ ...commits.stats(), commits: engine.commitCount(), resets: engine.history.resets }),
    close: () => engine.close(),
  };
}

type Engine = SqlEngine<Programs>;
type Applied = Extract<ApplyResult, { ok: true }>;

interface CommitsParts {
  readonly engine: Engine;
  readonly keyring: Keyring;
  readonly seals: RecentSeals;
  readonly timeAt: TimeAt;
  readonly news: CommitNews;
  readonly logins: Pick<ReturnType<typeof createLoginStore>, 'announce'>;
  readonly deliveries: Pick<ReturnType<typeof createDeliveryStore>, 'announce'>;
}

/** Commits of this process: sealed, written by the engine, and announced. */
class Commits {
  readonly #parts: CommitsParts;
  /** Events that were recorded, by type. */
  readonly #events = new Map<string, number>();
  #writeSets = 0;

  constructor(parts: CommitsParts) {
    this.#parts = parts;
  }

  async commit(writeSet: WriteSet): Promise<CommitResult> {
    const { engine, keyring, seals, timeAt, news, logins, deliveries } = this.#parts;
    const isLarge = isLargeWriteSet(writeSet);
    // Only what has a history is opened again soon.
    const sealing = writeSet.note === undefined || isAskingOnly(writeSet) ? keyring : seals;
    const sealed = isLarge
      ? await sealInSlices(writeSet, keyring, timeAt())
      : sealWriteSet(writeSet, sealing, timeAt());
    // A pure check takes no lock and no place in a group.
    if (isAskingOnly(writeSet)) return asked(await engine.readProven('applyWriteSet', sealed));
    const result = await engine.write('applyWriteSet', sealed);
    if (!result.ok) {
      // Nothing will be linked that could open them.
      seals.forget();
      return result;
    }
    this.#writeSets += 1;
    logins.announce(result.logins);
    for (const type of result.recorded) this.#events.set(type, (this.#events.get(type) ?? 0) + 1);
    // Outcomes of a group arrive in the order of their revisions, and nothing else is awaited here: so listeners hear
    // of them in order.
    const changes = await news.commit(writeSet, result, isLarge);
    if (result.enqueued > 0) deliveries.announce();
    return { ok: true, revision: result.revision, changes };
  }

  stats(): Pick<ReturnType<Store['stats']>, 'writeSets' | 'events'> {
    return { writeSets: this.#writeSets, events: this.#events };
  }
}

/** Tells the listeners of commits, in the order of their revisions. */
class CommitNews {
  readonly #keyring: Keyring;
  readonly #listeners = new Set<CommitListener>();
  readonly #followers = new Map<CommitListener, CommitFollower>();
  readonly #told = new ToldTogether(this.#listeners);
  /** A large commit is being opened: later ones wait, because listeners are called in the order of revisions. */
  #largeCommit: Promise<void> | null = null;

  constructor(keyring: Keyring) {
    this.#keyring = keyring;
  }

  onCommitted(listener: CommitListener, follower?: CommitFollower): () => void {
    this.#listeners.add(listener);
    if (follower !== undefined) this.#followers.set(listener, follower);
    return () => {
      this.#listeners.delete(listener);
      this.#followers.delete(listener);
    };
  }

  /** The lowest revision that any follower has applied. */
  appliedRevision(): number {
    return Math.min(...[...this.#followers.values()].flatMap(({ applied }) => applied?.() ?? []));
  }

  /** Another process may have committed. */
  foreignCommit(): void {
    notifyListeners(this.#listeners, []);
  }

  /** Resolves with the changes when all listeners were called. */
  async commit({ puts = [] }: WriteSet, result: Applied, isLarge: boolean): Promise<readonly Change[]> {
    while (this.#largeCommit !== null) await this.#largeCommit;
    // Deleting one record may delete thousands.
    if (isLarge || result.changes.length > MAX_CHANGES_AT_ONCE) return this.#tellInSlices(puts, result);
    const putByKey = new Map(puts.map((put) => [keyText(put), put]));
    const changes = result.changes.map(openedChange(putByKey, result.revision, this.#keyring));
    await this.#told.tell(changes);
    return changes;
  }

  async #tellInSlices(puts: readonly RecordPut[], result: Applied): Promise<readonly Change[]> {
    const opened = Promise.withResolvers<void>();
    this.#largeCommit = opened.promise;
    let changes: readonly Change[];
    try {
      const putByKey = new Map<string, RecordPut>();
      await mapInSlices(STORE_QUEUE, puts, (put) => putByKey.set(keyText(put), put));
      const open = openedChange(putByKey, result.revision, this.#keyring);
      changes = await mapInSlices(STORE_QUEUE, result.changes, open);
      await prepareFollowers(this.#followers.values(), changes);
    } finally {
      this.#largeCommit = null;
      opened.resolve();
    }
    await this.#told.tell(changes);
    return changes;
  }
}

/** See `Store.mark`. */
async function markOf(engine: Engine): Promise<CommitMark> {
  try {
    await engine.write('probeWrite');
  } catch (error) {
    // Then the last commit has to do: a server that cannot write can still be replaced.
    if (!isUnwritable(error)) throw error;
  }
  return engine.history.seen;
}

/** See `Store.readAll`. */
function readAllRecords(
  engine: Engine,
  keyring: Keyring,
  onBatch: (records: readonly StoredRecord[]) => void,
): Promise<{ readonly revision: number }> {
  return engine.withView(async (read) => {
    const { epoch } = engine.history;
    const pageAfter = (key: RecordKey | null): ReturnType<typeof read<'readRecordPage'>> =>
      read('readRecordPage', key, RECORDS_PER_BATCH);
    const [revision, commit, first] = await Promise.all([read('readRevision'), read('readCommit'), pageAfter(null)]);
    if (commit !== null) engine.history.advance(commit, epoch);
    for (let rows = first; rows.length > 0; ) {
      const { kind, id } = rows.at(-1) as RecordKey;
      const next = pageAfter({ kind, id });
      // A damaged row ends the loop before it is awaited.
      next.catch(() => {});
      // While the engine reads the next page.
      onBatch(rows.map((row) => openRecord(row, keyring)));
      rows = await next;
    }
    return { revision };
  });
}

/** See `Store.changesSince`. */
async function changesSince(engine: Engine, keyring: Keyring, revision: number): Promise<ChangesSince> {
  const found = await engine.readProven('readChangesSince', revision);
  if (!found.isComplete) return found;
  const changes = await mapInSlices(
    STORE_QUEUE,
    found.changes,
    (change): Change => (change.op === 'put' ? { op: 'put', record: openRecord(change.record, keyring) } : change),
  );
  return { isComplete: true, revision: found.revision, changes };
}

function isUnwritable(error: unknown): boolean {
  if (!(error instanceof PosternError)) return false;
  return error.code === 'ERR_POSTERN_STORE_FULL' || error.code === 'ERR_POSTERN_STORE_READ_ONLY';
}

function isAskingOnly({
  isDryRun,
  puts = [],
  deletes = [],
  touches = [],
  events = [],
  endsPeople = [],
  idempotency,
}: WriteSet): boolean {
  if (isDryRun === true) return true;
  const writes = puts.length + deletes.length + touches.length + events.length + endsPeople.length;
  return writes === 0 && idempotency === undefined;
}

function asked(result: ApplyResult): CommitResult {
  return result.ok ? { ok: true, revision: result.revision, changes: [] } : result;
}

/** How an applied change looks to this process, which still has the records that it put. */
function openedChange(
  putByKey: ReadonlyMap<string, RecordPut>,
  revision: number,
  keyring: Keyring,
): (change: AppliedChange) => Change {
  return (change) => {
    if (change.op === 'delete') return { op: 'delete', key: change.key, revision };
    if (change.op === 'touch') return { op: 'put', record: openRecord(change.record, keyring) };
    const put = putByKey.get(keyText(change.key));
    if (put === undefined) throw new Error(`the engine answered a put of ${change.key.kind} that was not requested`);
    const { kind, id, parent, doc, secrets } = put;
    return { op: 'put', record: { kind, id, parent, revision, doc, secrets } };
  };
}
