import { type Change, type PageQuery, revisionOf, type StoredRecord } from '../store.ts';
import type { RecordReader } from './record-table.ts';

/** A record since this revision; `record` undefined: it was absent. */
interface Version {
  readonly revision: number;
  readonly record: StoredRecord | undefined;
}

/** Records of another process's commit, which the feed delivers only as a later commit left them. */
export interface LearnedCommit {
  readonly revision: number;
  readonly changes: readonly Change[];
}

/** The state of single revisions, for a writer that answers with the state of its own commit. */
export interface StateKeeper {
  /** Revisions up to this one whose changes are unknown: other processes committed them. Null: too many, or all. */
  missing(revision: number): readonly number[] | null;
  learn(commits: readonly LearnedCommit[]): void;
  /** Covers `get` and `pageOfParent`, which rendering needs. */
  at(revision: number): RecordReader;
  end(): void;
}

/** Reading the history of more commits costs more than the exact answer is worth. */
const MAX_MISSING = 50;

/**
 * Remembers every version of the records that change after a moment. The replica itself shows the newest state only:
 * when a writer's promise resolves, it may already contain the commits of others.
 */
export class KeptState implements StateKeeper {
  readonly #from: number;
  readonly #newest: () => RecordReader;
  readonly #end: (state: KeptState) => void;
  /** By kind and id, with the version of the beginning, in the order of revisions. */
  readonly #versions = new Map<string, Version[]>();
  readonly #known = new Set<number>();
  #isLost = false;

  constructor(from: number, newest: () => RecordReader, end: (state: KeptState) => void) {
    this.#from = from;
    this.#newest = newest;
    this.#end = end;
  }

  /** Before the changes are applied. `isWhole`: they are whole commits, not the newest state of the changed records. */
  see(changes: readonly Change[], isWhole: boolean): void {
    for (const change of changes) {
      if (isWhole) this.#known.add(revisionOf(change));
      this.#add(change);
    }
  }

  /** All records were read again. */
  lose(): void {
    this.#isLost = true;
  }

  missing(revision: number): readonly number[] | null {
    if (this.#isLost) return null;
    const missing: number[] = [];
    for (let each = this.#from + 1; each <= revision; each += 1) {
      if (!this.#known.has(each)) missing.push(each);
      if (missing.length > MAX_MISSING) return null;
    }
    return missing;
  }

  learn(commits: readonly LearnedCommit[]): void {
    for (const { revision, changes } of commits) {
      this.#known.add(revision);
      for (const change of changes) this.#add(change);
    }
  }

  at(revision: number): RecordReader {
    const newest = this.#newest();
    const get = (kind: string, id: string): StoredRecord | undefined => {
      const versions = this.#versions.get(`${kind} ${id}`);
      if (versions === undefined) return newest.get(kind, id);
      return (versions.findLast((version) => version.revision <= revision) ?? versions[0])?.record;
    };
    return {
      get,
      page: (kind, query) => newest.page(kind, query),
      pageOfParent: (kind, parent, { beforeId, limit }: PageQuery) => {
        const ids = new Set(
          newest.pageOfParent(kind, parent, { beforeId, limit: Number.MAX_SAFE_INTEGER }).map(({ id }) => id),
        );
        for (const versions of this.#versions.values()) {
          for (const { record } of versions) {
            if (record?.kind === kind && record.parent === parent) ids.add(record.id);
          }
        }
        return [...ids]
          .filter((id) => beforeId === null || id < beforeId)
          .flatMap((id) => get(kind, id) ?? [])
          .sort((a, b) => (a.id < b.id ? 1 : -1))
          .slice(0, limit);
      },
    };
  }

  end(): void {
    this.#end(this);
  }

  #add(change: Change): void {
    const revision = revisionOf(change);
    const { kind, id } = change.op === 'put' ? change.record : change.key;
    const key = `${kind} ${id}`;
    let versions = this.#versions.get(key);
    if (versions === undefined) {
      const record = this.#newest().get(kind, id);
      versions = [{ revision: record?.revision ?? 0, record }];
      this.#versions.set(key, versions);
    }
    // What was learned is older than what the feed brought.
    const after = versions.findLastIndex((version) => version.revision <= revision);
    if (versions[after]?.revision === revision) return;
    versions.splice(after + 1, 0, { revision, record: change.op === 'put' ? change.record : undefined });
  }
}
