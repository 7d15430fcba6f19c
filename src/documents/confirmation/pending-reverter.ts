import { PosternError } from '../../lib/errors.ts';
import type { Replica } from '../../replica/replica.ts';
import type { PendingChange } from '../../store/pending-change.ts';
import type { CommitResult, HistoryStore } from '../../store/store.ts';
import type { DocumentsContext } from '../documents-context.ts';
import { endedByRevocation, revocableKinds } from './ended-by-revocation.ts';
import { pendingNow } from './pending-form.ts';
import { endWithoutRevert, revert } from './revert.ts';

/** At most this long until it looks again: clocks jump, and machines sleep. */
const LOOK_AGAIN_MS = 500;
const RETRY_MS = 2_000;
/** A revert that fails this often for the same reason never succeeds, and nobody could change the documents. */
const MAX_FAILURES = 3;

export interface RevertLog {
  reverted(revision: number, by: number): void;
  failed(revision: number, error: unknown): void;
  /** The change stays, and waits no longer. */
  gaveUp(revision: number, why: string): void;
}

/**
 * Reverts the pending change when its time is over, or when a revocation ends it. Every process does this, so the one that
 * took the change may be gone; the store lets one of them do it.
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
    const early = remainingMs > 0 ? endedByRevocation({ entry, released, author }, this.#context) : null;
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
