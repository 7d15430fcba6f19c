import type { RecordReader } from '../replica/record-reader.ts';
import type { PageQuery, StoredRecord, WriteSet } from '../store/store.ts';

/** An undo of 50,000 documents asks for every one of its events. */
const known = new WeakMap<WriteSet, RecordReader>();

/**
 * The records as they will be after a write set is applied, so that an event written with the change can show its
 * result. Covers only what rendering needs: the put records, and children that are added or deleted.
 */
export function overlay(reader: RecordReader, writeSet: WriteSet): RecordReader {
  const made = known.get(writeSet) ?? newOverlay(reader, writeSet);
  known.set(writeSet, made);
  return made;
}

function newOverlay(reader: RecordReader, writeSet: WriteSet): RecordReader {
  const puts = new Map<string, StoredRecord>();
  const idsByParent = new Map<string, Set<string>>();
  for (const put of writeSet.puts ?? []) {
    puts.set(`${put.kind} ${put.id}`, { ...put, revision: 0 });
    if (put.parent === null) continue;
    const siblings = idsByParent.get(`${put.kind} ${put.parent}`) ?? new Set();
    idsByParent.set(`${put.kind} ${put.parent}`, siblings.add(put.id));
  }
  const gone = new Set((writeSet.deletes ?? []).map((key) => `${key.kind} ${key.id}`));
  const get = (kind: string, id: string): StoredRecord | undefined => {
    const key = `${kind} ${id}`;
    return gone.has(key) ? undefined : (puts.get(key) ?? reader.get(kind, id));
  };
  return {
    get,
    page: (kind, query) => reader.page(kind, query),
    pageOfParent: (kind: string, parent: string, query: PageQuery) => {
      const stored = reader.pageOfParent(kind, parent, query).map((record) => record.id);
      const added = idsByParent.get(`${kind} ${parent}`) ?? [];
      return [...new Set([...added, ...stored])]
        .map((id) => get(kind, id))
        .filter((record) => record !== undefined)
        .sort((a, b) => (a.id < b.id ? 1 : -1));
    },
  };
}
