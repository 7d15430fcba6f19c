import type { JsonObject } from '../lib/json.ts';
import { readOrNull } from '../lib/read-or-null.ts';
import type { FollowedReplica } from '../replica/followed-replica.ts';
import type { StoredRecord } from '../store/store.ts';

const KIND = 'event_subscription';

/** The event types that some subscription selects: only those are recorded. */
export class WantedTypes {
  readonly #typesById = new Map<string, readonly string[]>();
  #wanted = new Set<string>();

  constructor(replica: FollowedReplica) {
    for (const record of replica.all(KIND)) this.#set(record);
    this.#recount();
    replica.onChange(
      (changes) => {
        let hasChanged = false;
        for (const change of changes) {
          if (change.op === 'put' && change.record.kind === KIND) this.#set(change.record);
          else if (change.op === 'delete' && change.key.kind === KIND) this.#typesById.delete(change.key.id);
          else continue;
          hasChanged = true;
        }
        if (hasChanged) this.#recount();
      },
      [KIND],
    );
  }

  has(type: string): boolean {
    return this.#wanted.has(type);
  }

  #set(record: StoredRecord): void {
    this.#typesById.set(record.id, readOrNull(() => typesOf(record)) ?? []);
  }

  #recount(): void {
    this.#wanted = new Set([...this.#typesById.values()].flat());
  }
}

/** Throws if it is not what the API writes. */
export function typesOf(record: StoredRecord): readonly string[] {
  return (record.doc['sources'] as readonly JsonObject[]).map((source) => source['type'] as string);
}
