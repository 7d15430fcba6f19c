import type { Clock } from '../lib/clock.ts';
import type { KeyedMutex } from '../lib/keyed-mutex.ts';
import type { Replica } from '../replica/replica.ts';
import type { OperationPorts } from '../resources/operation.ts';
import type { ResourceSettings } from '../resources/resource.ts';
import type { Store, StoredRecord } from '../store/store.ts';
import type { Catalog } from './catalog.ts';
import type { ChangeEventPorts } from './change-events.ts';
import type { Renderer } from './renderer.ts';

/** Dependencies of the document operations. */
export interface DocumentsContext {
  readonly catalog: Catalog;
  readonly settings: ResourceSettings;
  readonly store: Store;
  readonly replica: Replica;
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
  newId(prefix: string): string;
  newToken(prefix: string): string;
  ports(): OperationPorts;
}
