import { PosternError } from '../kit/errors.ts';
import { storeErrors } from './errors.ts';
import type { JobOutcome, RunGroup } from './group-commit.ts';
import type { CommitMark } from './sql/commit-rows.ts';

export type Reload = (cause: PosternError) => void | Promise<void>;

const RETRY_MS = 500;

/**
 * The database history as this process has seen it: the last commit known to be in it.
 *
 * States: *following* (every write and every read of a follower first proves the last commit) → *reloading* (the
 * database no longer has it: writes are rejected and everything in memory is read again, until all of it succeeds) →
 * *following*. Both transitions increase the epoch, so a write that was decided on lost state is rejected, however long
 * it waited.
 */
export class History {
  readonly #reloads = new Set<Reload>();
  readonly #readNewest: () => Promise<CommitMark | null>;
  #seen: CommitMark;
  #epoch = 0;
  #isReloading = false;
  #resets = 0;
  #retry: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(seen: CommitMark, readNewest: () => Promise<CommitMark | null>) {
    this.#seen = seen;
    this.#readNewest = readNewest;
  }

  get seen(): CommitMark {
    return this.#seen;
  }

  /** Recorded when a write is submitted: identifies the state that it was decided on. */
  get epoch(): number {
    return this.#epoch;
  }

  /** How often the database turned out to have another history. */
  get resets(): number {
    return this.#resets;
  }

  onReset(reload: Reload): () => void {
    this.#reloads.add(reload);
    return () => this.#reloads.delete(reload);
  }

  /** `epoch`: the epoch at the start of the transaction that showed it. */
  advance(commit: CommitMark, epoch: number): void {
    if (epoch === this.#epoch && commit.number > this.#seen.number) this.#seen = commit;
  }

  /** Passes errors through, and reacts to the one that reports a database that went back. */
  async noticing<Result>(work: () => Promise<Result>): Promise<Result> {
    const epoch = this.#epoch;
    try {
      return await work();
    } catch (error) {
      // A proof that started before a reset is obsolete.
      const isNews = epoch === this.#epoch && !this.#isReloading;
      if (isNews && error instanceof PosternError && error.code === 'ERR_POSTERN_STORE_WENT_BACK')
        this.#wentBack(error);
      throw error;
    }
  }

  /** Runs only jobs that were decided on the current history, and trusts no result across a reset. */
  guard(runGroup: RunGroup): RunGroup {
    return async (jobs) => {
      const epoch = this.#epoch;
      const current = this.#isReloading ? [] : jobs.filter((job) => job.epoch === epoch);
      const outcomes = current.length === 0 ? [] : await this.noticing(() => runGroup(current));
      if (epoch !== this.#epoch) throw outcomeUnknown();
      const answered = new Map(current.map((job, at) => [job, outcomes[at]]));
      return jobs.map((job): JobOutcome => answered.get(job) ?? { ok: false, error: decidedOnLostState() });
    };
  }

  close(): void {
    this.#isClosed = true;
    if (this.#retry !== null) clearTimeout(this.#retry);
  }

  #wentBack(cause: PosternError): void {
    if (this.#isClosed) return;
    this.#isReloading = true;
    this.#epoch += 1;
    this.#resets += 1;
    void this.#reload(cause);
  }

  async #reload(cause: PosternError): Promise<void> {
    try {
      // Read first: if the database goes back again during the reload, the next proof detects it.
      const newest = await this.#readNewest();
      await Promise.all([...this.#reloads].map(async (reload) => reload(cause)));
      if (newest === null) throw new Error('the database holds no commit');
      this.#seen = newest;
      this.#epoch += 1;
      this.#isReloading = false;
    } catch {
      // The database is unavailable too. Writes stay rejected until everything could be read.
      if (!this.#isClosed) this.#retry = setTimeout(() => void this.#reload(cause), RETRY_MS).unref();
    }
  }
}

function decidedOnLostState() {
  return storeErrors.create(
    'ERR_POSTERN_STORE_WENT_BACK',
    'the database went back to an earlier state, and the request was based on the later one. Nothing was applied: send it again',
  );
}

function outcomeUnknown() {
  return storeErrors.create(
    'ERR_POSTERN_STORE_UNAVAILABLE',
    'the database went back to an earlier state during the write: read the resource before you send the request again',
  );
}
