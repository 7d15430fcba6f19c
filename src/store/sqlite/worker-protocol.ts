import { fromWire, type WireOutcome } from '../../lib/process/wire-error.ts';
import type { JobOutcome } from '../group-commit.ts';
import type { CommitMark } from '../sql/commits/commit-rows.ts';
import type { Job } from '../sql/programs.ts';

export interface WorkerOptions {
  readonly path: string;
  readonly access: 'write' | 'read';
  readonly maxPages: number | undefined;
  /** A descriptor of the database file, which the owner of the threads closes after them. */
  readonly headerFile: number;
  /** The data directory, where the reserve must be held before anything is written. Null: this thread writes nothing. */
  readonly reserveIn: string | null;
}

export type WorkerTask =
  | { readonly do: 'group'; readonly jobs: readonly Job[]; readonly seen: CommitMark }
  | { readonly do: 'read'; readonly job: Job; readonly view: number | null }
  /** Only from a database that contains the commit `seen`. */
  | { readonly do: 'read_proven'; readonly job: Job; readonly seen: CommitMark }
  /**
   * Whether the files are those that were opened, intact as far as a cheap check shows, and of the history that was
   * seen.
   */
  | { readonly do: 'probe'; readonly seen: CommitMark }
  | { readonly do: 'open_view'; readonly view: number }
  | { readonly do: 'close_view'; readonly view: number };

export interface WorkerRequest {
  readonly id: number;
  readonly task: WorkerTask;
}

/** One outcome per job, and their last commit. */
export interface WireGroup {
  readonly outcomes: readonly WireOutcome[];
  readonly commit: CommitMark;
}

export interface WireProvenRead {
  readonly value: unknown;
  /** The newest commit in the view. */
  readonly commit: CommitMark;
}

export interface WorkerReply {
  readonly id: number;
  /** For a group, the value is a `WireGroup`. */
  readonly outcome: WireOutcome;
}

export function outcomeFromWire(outcome: WireOutcome): JobOutcome {
  return outcome.ok ? outcome : { ok: false, error: fromWire(outcome.error) };
}
