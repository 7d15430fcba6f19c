import type { Clock } from '../lib/clock.ts';
import type { KeyedMutex } from '../lib/keyed-mutex.ts';
import type { Replica } from '../replica/replica.ts';
import type { OperationPorts } from '../resources/operation.ts';
import type { ResourceSettings } from '../resources/resource.ts';
import type { Store } from '../store/store.ts';
import type { Catalog } from './catalog.ts';
import type { ChangeEventPorts } from './change-events.ts';
import type { Renderer } from './renderer.ts';

/** What the documents work with. */
export interface DocumentsContext {
  readonly catalog: Catalog;
  readonly settings: ResourceSettings;
  readonly store: Store;
  readonly replica: Replica;
  readonly renderer: Renderer;
  readonly events: ChangeEventPorts;
  readonly clock: Clock;
  /** One read-modify-write at a time per record in this process, so that retries are for other processes only. */
  readonly mutex: KeyedMutex;
  /** Resolves when traffic meets what a write of this revision changed; null: it does already. */
  served(revision: number): Promise<void> | null;
  /** Why what a record stands for refuses traffic, in one line of ASCII, by the record's id; undefined: it does not. */
  problemOf(recordId: string): string | undefined;
  newId(prefix: string): string;
  newToken(prefix: string): string;
  ports(): OperationPorts;
}
