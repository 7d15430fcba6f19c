import { PosternError } from '../../lib/errors.ts';
import type { Replica } from '../../replica/replica.ts';
import type { PendingChange } from '../../store/pending-change.ts';
import type { CommitResult, HistoryStore } from '../../store/store.ts';
import type { DocumentsContext } from '../documents-context.ts';
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
 * Reverts the pending change when its time is over. Every process does this, so the one that took the change may be
 * gone; the store lets one of them do it.
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
  /** Reported once per change. */
  #failed = { revision: 0, times: 0 };

  constructor(context: DocumentsContext, replica: Pick<Replica, 'onChange'>, history: HistoryStore, log: RevertLog) {
    this.#context = context;
    this.#history = history;
    this.#log = log;
    this.#stop = replica.onChange(() => this.#wake());
    this.#wake();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stop();
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#running;
  }

  #wake(): void {
    if (this.#timer !== null || this.#running !== null || this.#isClosed) return;
    const pending = pendingNow(this.#context);
    if (pending === null) return;
    const remainingMs = this.#remainingMs(pending);
    if (remainingMs > 0) this.#lookAgainIn(remainingMs);
    else this.#settle(pending);
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

  #settle(pending: PendingChange): void {
    this.#running = this.#revert(pending)
      .catch((error: unknown) => {
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
  async #revert({ revision }: PendingChange): Promise<number> {
    const entry = await this.#history.get(revision);
    if (entry === null) return this.#giveUp(revision, 'the history has no entry of it');
    let result: CommitResult;
    try {
      result = await revert(entry, this.#context);
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
