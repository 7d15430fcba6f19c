import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Clock } from '../../../src/kit/clock.ts';
import type { CommitResult, RecordKey, RecordPut, Store, StoredRecord, WriteSet } from '../../../src/store/store.ts';

export interface OpenOptions {
  readonly keepRevisions?: number;
  readonly clock?: Clock;
}

/** A new and empty store of the engine under test, closed and removed after the test. */
export type OpenStore = (test: TestContext, options?: OpenOptions) => Promise<StoreUnderTest>;

export interface StoreUnderTest {
  readonly store: Store;
  /** Closes the store and opens its data again. */
  reopen(): Promise<Store>;
}

export function put(kind: string, id: string, rest: Partial<Omit<RecordPut, 'kind' | 'id'>> = {}): RecordPut {
  return { kind, id, parent: null, doc: {}, secrets: null, uniqueKeys: [], references: [], ...rest };
}

export function refersTo(to: RecordKey, field = 'ref_id') {
  return { field, to };
}

export async function committed(store: Store, writeSet: WriteSet): Promise<Extract<CommitResult, { ok: true }>> {
  const result = await store.commit(writeSet);
  assert.ok(result.ok, `refused: ${JSON.stringify(result)}`);
  return result;
}

/** Asserts the whole refusal, and that the store is unchanged: same revision, records, events. */
export async function assertRefused(store: Store, writeSet: WriteSet, refusal: object): Promise<void> {
  const before = await everything(store);
  assert.deepEqual(await store.commit(writeSet), { ok: false, ...refusal });
  assert.deepEqual(await everything(store), before);
}

export async function everything(store: Store) {
  const records: StoredRecord[] = [];
  const { revision } = await store.readAll((batch) => records.push(...batch));
  return { revision, records, events: await store.events.count() };
}

export async function readRecord(store: Store, { kind, id }: RecordKey): Promise<StoredRecord | null> {
  const { records } = await everything(store);
  return records.find((record) => record.kind === kind && record.id === id) ?? null;
}
