import { readOrNull } from '../../kit/read-or-null.ts';
import type { StoredRecord } from '../store.ts';
import type { Replica } from './replica.ts';

/** Records of one kind by another key than their id. It follows the replica. */
export class RecordIndex {
  readonly #keyOf: (record: StoredRecord) => string;
  readonly #byKey = new Map<string, StoredRecord>();
  readonly #keyById = new Map<string, string>();
  readonly close: () => void;

  constructor(replica: Replica, kind: string, keyOf: (record: StoredRecord) => string) {
    this.#keyOf = keyOf;
    for (const record of replica.all(kind)) this.#add(record);
    this.close = replica.onChange(
      (changes) => {
        for (const change of changes) {
          if (change.op === 'put' && change.record.kind === kind) this.#add(change.record);
          else if (change.op === 'delete' && change.key.kind === kind) this.#remove(change.key.id);
        }
      },
      [kind],
    );
  }

  get(key: string): StoredRecord | undefined {
    return this.#byKey.get(key);
  }

  #add(record: StoredRecord): void {
    this.#remove(record.id);
    const key = readOrNull(() => this.#keyOf(record));
    if (key === null) return;
    this.#byKey.set(key, record);
    this.#keyById.set(record.id, key);
  }

  #remove(id: string): void {
    const key = this.#keyById.get(id);
    if (key === undefined) return;
    this.#keyById.delete(id);
    // Another record may have taken the key in the same commit.
    if (this.#byKey.get(key)?.id === id) this.#byKey.delete(key);
  }
}
