import type { RecordReader } from '../replica/record-reader.ts';
import type { PageQuery, StoredRecord, WriteSet } from '../store/store.ts';

/**
 * The records as they will be after a write set is applied, so that an event written with the change can show its
 * result. Covers only what rendering needs: the put records, and children that are added or deleted.
 */
export function overlay(reader: RecordReader, writeSet: WriteSet): RecordReader {
  const puts = new Map(
    (writeSet.puts ?? []).map((put): [string, StoredRecord] => [`${put.kind} ${put.id}`, { ...put, revision: 0 }]),
  );
  const gone = new Set((writeSet.deletes ?? []).map((key) => `${key.kind} ${key.id}`));
  const get = (kind: string, id: string): StoredRecord | undefined => {
    const key = `${kind} ${id}`;
    return gone.has(key) ? undefined : (puts.get(key) ?? reader.get(kind, id));
  };
  return {
    get,
    page: (kind, query) => reader.page(kind, query),
    pageOfParent: (kind: string, parent: string, query: PageQuery) => {
      const known = reader.pageOfParent(kind, parent, query).map((record) => record.id);
      const added = [...puts.values()]
        .filter((record) => record.kind === kind && record.parent === parent)
        .map((record) => record.id);
      return [...new Set([...added, ...known])]
        .map((id) => get(kind, id))
        .filter((record) => record !== undefined)
        .sort((a, b) => (a.id < b.id ? 1 : -1));
    },
  };
}
