import { deserialize, serialize } from 'node:v8';
import { TimeSlice } from '../../kit/async/slices.ts';
import { fromWire, type WireOutcome } from '../../kit/process/wire-error.ts';
import type { Job, JobOutcome } from '../group-commit.ts';
import type { CommitMark } from '../sql/commit-rows.ts';
import {
  type AppliedChange,
  type ApplyResult,
  isLargeWriteSet,
  LISTS,
  type ListsOfWriteSet,
  type SealedWriteSet,
  STORE_QUEUE,
} from '../sql/seal.ts';

export interface WorkerOptions {
  readonly path: string;
  readonly access: 'write' | 'read';
  readonly maxPages: number | undefined;
  /** A descriptor of the database file, which the owner of the threads closes after them. */
  readonly headerFile: number;
  /**
   * The data directory, where the reserve must be held before anything is written. Null: this thread writes nothing.
   */
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

/** A message is cloned in one turn of each thread: one with 50,000 records would take the event loop for 300 ms. */
const ITEMS_PER_PART = 200;

type Bytes = Uint8Array<ArrayBuffer>;

/** A long message between the threads: its lists as bytes, which are handed over without a copy. */
export interface Packed<Message> {
  readonly head: Message;
  readonly packed: readonly Bytes[];
}

export function isPacked(message: unknown): message is Packed<unknown> {
  return typeof message === 'object' && message !== null && 'packed' in message;
}

/** In slices. Only a long write set is packed. */
export async function packJob(job: Job): Promise<Job> {
  const [writeSet] = job.args;
  if (job.name !== 'applyWriteSet' || !isLargeWriteSet(writeSet as SealedWriteSet)) return job;
  return { ...job, args: [await packWriteSet(writeSet as SealedWriteSet)] };
}

export function bytesIn(jobs: readonly Job[]): ArrayBuffer[] {
  return jobs.flatMap(({ args: [message] }) => buffersOf(message));
}

async function packWriteSet(writeSet: SealedWriteSet): Promise<Packed<SealedWriteSet>> {
  const slice = new TimeSlice(STORE_QUEUE);
  const packed: Bytes[] = [];
  for (const name of LISTS) {
    for (const part of partsOf<unknown>(writeSet[name])) {
      packed.push(bytesOf({ [name]: part }));
      if (slice.isOver) await slice.next();
    }
  }
  return { head: { ...writeSet, expect: [], puts: [], deletes: [], touches: [], events: [] }, packed };
}

/** In the worker, whose turns delay nobody else. */
export function unpackJob(job: Job): Job {
  const [message] = job.args;
  if (!isPacked(message)) return job;
  const parts = message.packed.map((part) => deserialize(part) as Partial<ListsOfWriteSet>);
  const lists = LISTS.map((name) => [name, parts.flatMap((part): readonly unknown[] => part[name] ?? [])]);
  return { ...job, args: [{ ...(message.head as SealedWriteSet), ...Object.fromEntries(lists) }] };
}

export function packGroup({ outcomes, commit }: WireGroup): WireGroup {
  return { commit, outcomes: outcomes.map(packOutcome) };
}

export function bytesInReply(outcome: WireOutcome): ArrayBuffer[] {
  const { outcomes = [] } = (outcome.ok && outcome.value !== null ? outcome.value : {}) as Partial<WireGroup>;
  return outcomes.flatMap((each) => (each.ok ? buffersOf(each.value) : []));
}

function packOutcome(outcome: WireOutcome): WireOutcome {
  if (!outcome.ok) return outcome;
  const { changes } = (outcome.value ?? {}) as { readonly changes?: readonly AppliedChange[] };
  if (changes === undefined || changes.length <= ITEMS_PER_PART) return outcome;
  const head = { ...(outcome.value as ApplyResult), changes: [] };
  return { ok: true, value: { head, packed: [...partsOf(changes)].map(bytesOf) } satisfies Packed<ApplyResult> };
}

/** In slices. */
export async function unpackResult({ head, packed }: Packed<ApplyResult>): Promise<ApplyResult> {
  const slice = new TimeSlice(STORE_QUEUE);
  const changes: AppliedChange[] = [];
  for (const part of packed) {
    changes.push(...(deserialize(part) as AppliedChange[]));
    if (slice.isOver) await slice.next();
  }
  return { ...head, changes } as ApplyResult;
}

function* partsOf<Item>(items: readonly Item[]): Generator<readonly Item[]> {
  for (let at = 0; at < items.length; at += ITEMS_PER_PART) yield items.slice(at, at + ITEMS_PER_PART);
}

function buffersOf(message: unknown): ArrayBuffer[] {
  return isPacked(message) ? message.packed.map(({ buffer }) => buffer) : [];
}

function bytesOf(value: unknown): Bytes {
  // A copy: memory of the serializer cannot be handed over.
  return new Uint8Array(serialize(value));
}
