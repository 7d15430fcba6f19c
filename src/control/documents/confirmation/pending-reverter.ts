import { PosternError } from '../../../kit/errors.ts';
import type { JsonObject } from '../../../kit/json.ts';
import { PENDING_CHANGE, type PendingChange, type Settlement } from '../../../store/own-records.ts';
import type { Replica } from '../../../store/replica/replica.ts';
import type { ChangeNote, CommitResult, HistoryEntry, HistoryStore, RecordKey } from '../../../store/store.ts';
import type { Principal } from '../../resources/operation.ts';
import { hasScope, scopeOf } from '../../resources/scopes.ts';
import { API_KEY_KIND } from '../authorize.ts';
import { type Catalog, documentForm } from '../catalog.ts';
import type { DocumentsContext } from '../documents-context.ts';
import { authorizeKept, planRestore } from '../history/undo.ts';
import { withOwners } from './confirm.ts';
import { pendingNow } from './pending-change.ts';

interface Waiting {
  readonly entry: HistoryEntry;
  readonly released: readonly RecordKey[];
  readonly author: JsonObject | null;
}

/** Kinds of documents that can be revoked, those with rights of their own. */
function revocableKinds({ compiled }: Catalog): ReadonlySet<string> {
  const resources = [...compiled.values()].map(({ resource }) => resource);
  return new Set(resources.filter((resource) => resource.isRevocation !== undefined).map(({ kind }) => kind));
}

/**
 * Why a pending change ends before its time, or null. Its author answers for it, and somebody must be able to revert
 * it.
 */
async function endedByRevocation(
  { entry, released, author }: Waiting,
  context: DocumentsContext,
): Promise<string | null> {
  const { catalog } = context;
  const isReleased = ({ kind, id }: RecordKey): boolean => released.some((key) => key.kind === kind && key.id === id);
  const documents = entry.items.filter(({ kind }) => !catalog.derivedKinds.has(kind));
  if (documents.every(isReleased)) return 'all that it changed was revoked';
  const id = author?.['kind'] === 'api_key' ? (author['id'] as string) : '';
  const own = documents.find((item) => item.kind === API_KEY_KIND && item.id === id);
  // What the change itself did to the key of its author is part of the trial.
  if (id === '' || (own !== undefined && !isReleased(own))) return null;
  const key = context.replica.get(API_KEY_KIND, id);
  if (key === undefined) return `the API key that made it, ${id}, was deleted`;
  const scopes = key.doc['scopes'] as readonly string[];
  const items = documents.filter((item) => !isReleased(item));
  const kinds = new Set(items.map(({ kind }) => kind));
  for (const kind of kinds) {
    const form = documentForm(catalog, kind);
    const scope = form === null ? '*' : scopeOf('POST', form.path);
    if (!hasScope({ apiKeyId: id, scopes }, scope)) return `the API key that made it, ${id}, lost the scope "${scope}"`;
  }
  // As it is, it could make the change when it did.
  if (key.revision <= entry.revision) return null;
  const lost = await missingFor({ ...entry, items }, { apiKeyId: id, scopes }, context);
  return lost === null ? null : `the API key that made it, ${id}, lost the scope "${lost}"`;
}

/** A scope that this caller would need for the change; null: none. */
async function missingFor(
  entry: HistoryEntry,
  principal: Principal,
  context: DocumentsContext,
): Promise<string | null> {
  try {
    await authorizeKept(entry, principal, context);
    return null;
  } catch (error) {
    if (error instanceof PosternError && error.status === 403) return String(error.details?.['scope']);
    throw error;
  }
}

/**
 * The server itself: there is nobody to ask. The revert gives nobody anything new, because the store holds whatever
 * decides about the restored documents as it was (docs/internals/decisions/0051).
 */
const SERVER: Principal = { apiKeyId: '', scopes: ['*'] };

const MAX_NAMED = 10;

/** When a change is taken back, and what of it. */
interface Reverted {
  readonly entry: HistoryEntry;
  /** Revoked while the change waited: they stay as they are. */
  readonly released: readonly RecordKey[];
  /** Before its time is over, for this reason. */
  readonly early: string | null;
}

/** Takes back a change that nobody confirmed in time. The store decides whether it is still to be done. */
async function revert(what: Reverted, context: DocumentsContext): Promise<CommitResult> {
  const first = await commitRevert(what, context);
  if (first.ok || first.reason !== 'last_one') return first;
  // The change made the last API key with all scopes: it stays, or nobody could manage the server.
  const { entry } = what;
  const kept = entry.items.filter(
    ({ kind }) => context.catalog.compiled.get(kind)?.resource.keepAtLeastOne === undefined,
  );
  return commitRevert({ ...what, entry: { ...entry, items: kept } }, context);
}

/** Ends the wait of a change that cannot be reverted, so that other writes and changes go on. The change stays. */
function endWithoutRevert(revision: number, why: string, { store }: DocumentsContext): Promise<CommitResult> {
  return store.commit({
    deletes: [PENDING_CHANGE],
    settles: { revision, as: 'reverted' },
    note: noteOfRevert(`revision ${revision} was not confirmed in time, and could not be reverted: ${why}`),
  });
}

async function commitRevert({ entry, released, early }: Reverted, context: DocumentsContext): Promise<CommitResult> {
  const { revision } = entry;
  const { writeSet, afterwards, skipped } = await planRestore(entry, {
    isForced: true,
    isRevert: true,
    released,
    principal: SERVER,
    context,
  });
  const settles: Settlement = { revision, as: early === null ? 'reverted' : 'withdrawn' };
  const why = early ?? 'nobody confirmed it in time';
  const result = await context.store.commit({
    ...withOwners(writeSet, pendingNow(context), revision),
    deletes: [...(writeSet.deletes ?? []), PENDING_CHANGE],
    settles,
    note: noteOfRevert(`revert of revision ${revision}: ${why}${leftAlone(skipped)}`),
  });
  if (!result.ok) return result;
  await context.served(result.revision);
  for (const task of afterwards) await task();
  return result;
}

function leftAlone(skipped: readonly RecordKey[]): string {
  if (skipped.length === 0) return '';
  const named = skipped.slice(0, MAX_NAMED).map(({ id }) => id);
  const more = skipped.length > MAX_NAMED ? ` and ${skipped.length - MAX_NAMED} more` : '';
  return `. Revoked, and left alone: ${named.join(', ')}${more}`;
}

function noteOfRevert(message: string): ChangeNote {
  const author = { kind: 'server', id: '', address: null, operation_id: 'changes.revert', via: 'revert' };
  return { author, message };
}

/** At most this long until it looks again: clocks jump, and machines sleep. */
const LOOK_AGAIN_MS = 500;
const RETRY_MS = 2_000;
/** A revert that fails this often for the same reason never succeeds, and nobody could change the documents. */
const MAX_FAILURES = 3;

interface RevertLog {
  reverted(revision: number, by: number): void;
  failed(revision: number, error: unknown): void;
  /** The change stays, and waits no longer. */
  gaveUp(revision: number, why: string): void;
}

/**
 * Reverts the pending change when its time is over, or when a revocation ends it. Every process does this, so the one
 * that took the change may be gone; the store lets one of them do it.
 */
export class PendingReverter {
  readonly #context: DocumentsContext;
  readonly #history: HistoryStore;
  readonly #log: RevertLog;
  readonly #stop: () => void;
  #timer: NodeJS.Timeout | null = null;
  #running: Promise<void> | null = null;
  #isClosed = false;
  #seen = { revision: 0, atMs: 0 };
  /** Revision of the change about which no revocation is unseen. */
  #examined = 0;
  /** Reported once per change. */
  #failed = { revision: 0, times: 0 };

  constructor(context: DocumentsContext, replica: Pick<Replica, 'onChange'>, history: HistoryStore, log: RevertLog) {
    this.#context = context;
    this.#history = history;
    this.#log = log;
    const revocable = revocableKinds(context.catalog);
    this.#stop = replica.onChange((changes) => {
      if (changes.some((change) => revocable.has((change.op === 'put' ? change.record : change.key).kind))) {
        this.#examined = 0;
        this.#stopWaiting();
      }
      this.#wake();
    });
    this.#wake();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stop();
    this.#stopWaiting();
    await this.#running;
  }

  #stopWaiting(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #wake(): void {
    if (this.#timer !== null || this.#running !== null || this.#isClosed) return;
    const pending = pendingNow(this.#context);
    if (pending === null) return;
    const remainingMs = this.#remainingMs(pending);
    if (remainingMs <= 0 || this.#examined !== pending.revision) this.#settle(pending, remainingMs);
    else this.#lookAgainIn(remainingMs);
  }

  /** The database decides; this clock may be behind it, so the time since the change was seen counts as well. */
  #remainingMs({ revision, confirmByMs, confirmWithinMs }: PendingChange): number {
    const nowMs = this.#context.clock.nowMs();
    if (this.#seen.revision !== revision) this.#seen = { revision, atMs: nowMs };
    return Math.min(confirmByMs, this.#seen.atMs + confirmWithinMs) - nowMs;
  }

  #lookAgainIn(delayMs: number): void {
    this.#timer = setTimeout(
      () => {
        this.#timer = null;
        this.#wake();
      },
      Math.min(delayMs, LOOK_AGAIN_MS),
    ).unref();
  }

  #settle(pending: PendingChange, remainingMs: number): void {
    this.#running = this.#revert(pending, remainingMs)
      .catch((error: unknown) => {
        this.#examined = 0;
        if (this.#failed.revision !== pending.revision) {
          this.#failed = { revision: pending.revision, times: 0 };
          this.#log.failed(pending.revision, error);
        }
        // A database that is away comes back.
        if (!(error instanceof PosternError && error.status === 503)) this.#failed.times += 1;
        return RETRY_MS;
      })
      .then((againInMs) => {
        this.#running = null;
        if (this.#isClosed) return;
        if (againInMs > 0) this.#lookAgainIn(againInMs);
        else this.#wake();
      });
  }

  /** Milliseconds until the next attempt. */
  async #revert({ revision, author }: PendingChange, remainingMs: number): Promise<number> {
    // Before it reads: a later revocation is examined again.
    this.#examined = revision;
    const entry = await this.#history.get(revision);
    if (entry === null) return remainingMs > 0 ? remainingMs : this.#giveUp(revision, 'the history has no entry of it');
    const released = await this.#history.released();
    const early = remainingMs > 0 ? await endedByRevocation({ entry, released, author }, this.#context) : null;
    if (remainingMs > 0 && early === null) return remainingMs;
    let result: CommitResult;
    try {
      result = await revert({ entry, released, early }, this.#context);
      if (!result.ok && !isPassing(result)) throw new Error(`the store refused it: ${result.reason}`);
    } catch (error) {
      const { revision: failed, times } = this.#failed;
      if (failed !== revision || times < MAX_FAILURES) throw error;
      return this.#giveUp(revision, (error as Error).message);
    }
    if (result.ok) this.#log.reverted(revision, result.revision);
    return this.#againIn(result);
  }

  async #giveUp(revision: number, why: string): Promise<number> {
    const result = await endWithoutRevert(revision, why, this.#context);
    if (result.ok) this.#log.gaveUp(revision, why);
    return this.#againIn(result);
  }

  async #againIn(result: CommitResult): Promise<number> {
    if (result.ok) return 0;
    // The database's clock is behind this one.
    if (result.reason === 'not_settled' && result.why === 'early') return Math.max(1, result.remainingMs);
    if (result.reason === 'not_settled' || result.reason === 'conflict') {
      await this.#context.replica.refresh();
      return result.reason === 'conflict' ? LOOK_AGAIN_MS : 0;
    }
    return RETRY_MS;
  }
}

/** Another process did it, the time is not over, or somebody wrote meanwhile. */
function isPassing({ reason }: Extract<CommitResult, { ok: false }>): boolean {
  return reason === 'not_settled' || reason === 'conflict';
}
