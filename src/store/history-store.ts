import type { JsonObject } from '../kit/json.ts';
import type { RecordKey, Secrets } from './stored-record.ts';

/** Who makes a change, and why: written with the change, in its transaction. */
export interface ChangeNote {
  readonly author: JsonObject;
  readonly message: string;
}

/** A record as it was before or after a change. */
export interface HistoryDocument {
  readonly parent: string | null;
  readonly doc: JsonObject;
  readonly secrets: Secrets | null;
}

/** One record of a change. `before` is null when the change created it, `after` when it deleted it. */
export interface HistoryItem extends RecordKey {
  readonly before: HistoryDocument | null;
  readonly after: HistoryDocument | null;
}

export interface HistoryHead {
  readonly revision: number;
  readonly atMs: number;
  readonly note: ChangeNote;
  /** Links the entry to the one before it; null until that is computed, a moment after the change. */
  readonly chain: string | null;
}

export interface HistorySummary extends HistoryHead {
  /** The first hundred records. */
  readonly keys: readonly (RecordKey & { readonly op: 'created' | 'updated' | 'deleted' })[];
  readonly count: number;
}

export interface HistoryEntry extends HistoryHead {
  readonly items: readonly HistoryItem[];
}

/** An entry whose items are read page by page: it may have 100,000. */
export interface LinkableEntry extends HistoryHead {
  /** In their order. */
  pages(): AsyncIterable<readonly HistoryItem[]>;
}

export interface HistoryQuery {
  /** Only older ones. */
  readonly beforeRevision: number | null;
  readonly limit: number;
  readonly sinceMs?: number;
  readonly untilMs?: number;
  /** Id of the API key. */
  readonly authorId?: string;
  /** Id of a record, or of the edge or route that a module belongs to. */
  readonly objectId?: string;
}

export interface HistoryLink {
  readonly revision: number;
  readonly chain: string;
}

/** What was pruned last: the chain of the oldest kept entry starts there. */
export type HistoryAnchor = HistoryLink;

/** Every change of configuration through the API. Append-only, except for its age. */
export interface HistoryStore {
  /** Newest first. */
  list(query: HistoryQuery): Promise<readonly HistorySummary[]>;
  get(revision: number): Promise<HistoryEntry | null>;
  /** Documents of the pending change that were revoked since: it no longer concerns them. */
  released(): Promise<readonly RecordKey[]>;
  /** Oldest first, from this revision on; fewer than `limit` if they are long. */
  following(revision: number, limit: number): Promise<readonly LinkableEntry[]>;
  /** The oldest entries without a chain, and the chain before them ('' if there is none). */
  unlinked(limit: number): Promise<{ readonly previous: string; readonly entries: readonly LinkableEntry[] }>;
  /** Keeps a chain that another process has written. */
  link(links: readonly HistoryLink[]): Promise<void>;
  anchor(): Promise<HistoryAnchor | null>;
  /** Deletes the oldest linked entries: those from before this time, and all but the newest `keep`. */
  prune(beforeMs: number, keep: number): Promise<number>;
}
