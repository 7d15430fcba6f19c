import type { KeyedMutex } from '../../kit/async/turns.ts';
import type { Clock } from '../../kit/clock.ts';
import type { LivePorts } from '../../modules/contract/prepare.ts';
import type { StateKeeper } from '../../store/replica/kept-state.ts';
import type { RecordReader } from '../../store/replica/record-table.ts';
import type { Store, StoredRecord } from '../../store/store.ts';
import type { ResourcePorts } from '../resources/registry.ts';
import type { ResourceSettings } from '../resources/resource.ts';
import type { Catalog } from './catalog.ts';
import type { ChangeEventPorts } from './change-events.ts';
import type { Renderer } from './renderer.ts';

/** The current records; or, inside a changeset, those that its operations have staged. */
export interface DocumentsReplica extends RecordReader {
  /** How many records of a kind there are. */
  count(kind: string): number;
  readonly revision: number;
  refresh(): Promise<void>;
  keepState(): StateKeeper;
}

/** Dependencies of the document operations. */
export interface DocumentsContext {
  readonly catalog: Catalog;
  readonly settings: ResourceSettings;
  readonly store: Pick<Store, 'commit' | 'mac' | 'findIdempotency' | 'history'>;
  readonly replica: DocumentsReplica;
  readonly renderer: Renderer;
  readonly events: ChangeEventPorts;
  readonly clock: Clock;
  /** One read-modify-write at a time per record in this process, so that only other processes cause retries. */
  readonly mutex: KeyedMutex;
  /** Resolves when traffic sees the changes of this revision; null: it already does. */
  served(revision: number): Promise<void> | null;
  /** Why the object of this record id rejects traffic, as one line of ASCII; undefined: it does not. */
  problemOf(recordId: string): string | undefined;
  /** What is wrong with the object of this record although it serves traffic, as one line of ASCII. */
  warningOf(record: StoredRecord): string | undefined;
  /** Does what follows a stored change: at once, or after the commit of its changeset. */
  afterCommit(task: () => Promise<void>): Promise<void>;
  /** The state of a module on this node, for its live fields. */
  moduleState(module: string): LivePorts;
  newId(prefix: string): string;
  newToken(prefix: string): string;
  ports(): ResourcePorts;
}
