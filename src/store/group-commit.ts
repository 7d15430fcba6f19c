import { storeErrors } from './errors.ts';

/** A program of the store by its name: see `programs`. */
export interface Job {
  readonly name: string;
  readonly args: readonly unknown[];
}

/** A job waiting to be written. `epoch`: the history that it was decided on. */
export interface QueuedJob extends Job {
  readonly epoch: number;
}

export type JobOutcome =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly error: unknown };

/** Runs the jobs in one transaction, in order, and returns each result. Rejects when none of them was applied. */
export type RunGroup = (jobs: readonly QueuedJob[]) => Promise<readonly JobOutcome[]>;

export interface GroupCommit {
  submit(job: QueuedJob): Promise<unknown>;
  /** Transactions that contained at least one write set. */
  commitCount(): number;
  /** Resolves when everything submitted has been answered; later submissions are rejected. */
  close(): Promise<void>;
}

interface Waiting {
  readonly job: QueuedJob;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** Bounds the time that the first job of a group waits for the last. */
const MAX_GROUP_SIZE = 256;

/**
 * Waiting writers commit together: while one group is being synced the next one collects, so one fsync serves all
 * writers that arrived in the meantime. One group at a time, so the order of submission is the order of revisions.
 */
export function createGroupCommit(runGroup: RunGroup): GroupCommit {
  let waiting: Waiting[] = [];
  let running: Promise<void> | null = null;
  let isClosed = false;
  let commits = 0;

  async function runAll(): Promise<void> {
    // Lets requests that were read from their sockets in the same turn join the first group.
    await new Promise((resolve) => setImmediate(resolve));
    while (waiting.length > 0) {
      const group = waiting.slice(0, MAX_GROUP_SIZE);
      waiting = waiting.slice(MAX_GROUP_SIZE);
      await runOne(group);
    }
    running = null;
  }

  async function runOne(group: readonly Waiting[]): Promise<void> {
    try {
      const outcomes = await runGroup(group.map(({ job }) => job));
      if (group.some(({ job }, at) => job.name === 'applyWriteSet' && isApplied(outcomes[at]))) commits += 1;
      for (const [at, { resolve, reject }] of group.entries()) {
        const outcome = outcomes[at];
        if (outcome?.ok) resolve(outcome.value);
        else reject(outcome?.error);
      }
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }

  return {
    submit: (job) =>
      new Promise((resolve, reject) => {
        if (isClosed) {
          reject(storeErrors.create('ERR_POSTERN_STORE_UNAVAILABLE', 'the store is closed'));
          return;
        }
        waiting.push({ job, resolve, reject });
        running ??= runAll();
      }),
    commitCount: () => commits,
    close: async () => {
      isClosed = true;
      await running;
    },
  };
}

function isApplied(outcome: JobOutcome | undefined): boolean {
  return outcome?.ok === true && (outcome.value as { readonly ok?: boolean }).ok === true;
}
