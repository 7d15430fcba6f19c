import { PosternError } from '../lib/errors.ts';
import { storeErrors } from './errors.ts';
import type { JobOutcome, RunGroup } from './group-commit.ts';
import type { CommitMark } from './sql/commits/commit-rows.ts';

export type Reload = (cause: PosternError) => void | Promise<void>;

const RETRY_MS = 500;

/**
 * The history of the database as this process has seen it: the last commit that is known to be in it.
 *
 * States: *following* (every write and every read of a follower proves the last commit first) → *reloading* (the database no
 * longer has it: writes are refused, everything in memory is read again, until all of it could be) → *following*. The
 * epoch moves with both transitions, so a write that was decided on lost state is refused, however long it waited.
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

  /** Of a write, when it is submitted: decided on what this process knew then. */
  get epoch(): number {
    return this.#epoch;
  }

  /** How often the database turned out to be another one. */
  get resets(): number {
    return this.#resets;
  }

  onReset(reload: Reload): () => void {
    this.#reloads.add(reload);
    return () => this.#reloads.delete(reload);
  }

  /** `epoch`: when the transaction that showed it began. */
  advance(commit: CommitMark, epoch: number): void {
    if (epoch === this.#epoch && commit.number > this.#seen.number) this.#seen = commit;
  }

  /** Lets an error pass, and takes notice of the one that says that the database went back. */
  async noticing<Result>(work: () => Promise<Result>): Promise<Result> {
    const epoch = this.#epoch;
    try {
      return await work();
    } catch (error) {
      // One that began before a reset proved what is no longer asked for.
      const isNews = epoch === this.#epoch && !this.#isReloading;
      if (isNews && error instanceof PosternError && error.code === 'ERR_POSTERN_STORE_WENT_BACK')
        this.#wentBack(error);
      throw error;
    }
  }

  /** Runs only those jobs that were decided on the history that is followed now, and believes no answer across a reset. */
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
      // First: if it goes back once more while everything is read, the next proof finds out.
      const newest = await this.#readNewest();
      await Promise.all([...this.#reloads].map(async (reload) => reload(cause)));
      if (newest === null) throw new Error('the database holds no commit');
      this.#seen = newest;
      this.#epoch += 1;
      this.#isReloading = false;
    } catch {
      // The database is away as well. Writes stay refused until everything could be read.
      if (!this.#isClosed) this.#retry = setTimeout(() => void this.#reload(cause), RETRY_MS).unref();
    }
  }
}

function decidedOnLostState() {
  return storeErrors.create(
    'ERR_POSTERN_STORE_WENT_BACK',
    'the database went back to an earlier state, and the request was decided on the later one. Nothing was applied: send it again',
  );
}

function outcomeUnknown() {
  return storeErrors.create(
    'ERR_POSTERN_STORE_UNAVAILABLE',
    'the database went back to an earlier state while the request was written: read the resource before you send it again',
  );
}
