import type { JsonObject } from '../../lib/json.ts';

/** Records that belong to a module, in the store and its backups, the same for all processes. */
export interface ModuleRecords {
  list(kind: string): readonly ModuleRecord[];
  /** Only if there is none with this id: of two processes that add one at once, both end with the same record. */
  add(kind: string, record: ModuleRecord): Promise<void>;
  remove(kind: string, id: string): Promise<void>;
}

export interface ModuleRecord {
  readonly id: string;
  readonly doc: JsonObject;
  /** One field that is sealed at rest. */
  readonly secret: { readonly field: string; readonly text: string };
}

/** Records as this process currently sees them. */
export interface FollowedRecords {
  all(kind: string): Iterable<FollowedRecord>;
  get(kind: string, id: string): FollowedRecord | undefined;
  /** Called after a change of such records, by this process or another. */
  onChange(listener: (changed: readonly FollowedKey[]) => void): () => void;
  /**
   * Writes records of own kinds in one transaction, each only if it still has the revision that the caller saw, and so
   * do the records that the decision depends on. False: somebody else was faster, or the parent is gone.
   */
  write(puts: readonly OwnRecordPut[], unchanged?: readonly FollowedRecord[]): Promise<boolean>;
  remove(kind: string, id: string): Promise<void>;
  /** Reads what other processes have written up to now. */
  refresh(): Promise<void>;
  /** The same from wherever it is known. Rejects with an outage of the store when that is nowhere. */
  catchUp(): Promise<void>;
  /** False: for some seconds it has been unknown here what other processes deleted. Called per request. */
  isCurrent(): boolean;
  /** The module would now prepare the edges that read this record differently. */
  recompile(kind: string, id: string): void;
}

export interface FollowedKey {
  readonly kind: string;
  readonly id: string;
}

export interface FollowedRecord extends FollowedKey {
  readonly revision: number;
  readonly doc: JsonObject;
}

export interface OwnRecordPut extends FollowedKey {
  /** Id of the record that it is deleted with. */
  readonly parent: string;
  readonly doc: JsonObject;
  /** What the caller saw; undefined: there was none. */
  readonly seen: FollowedRecord | undefined;
}
