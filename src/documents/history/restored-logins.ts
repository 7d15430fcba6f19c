import type { RecordReader } from '../../replica/record-reader.ts';
import type { Expectation, HistoryItem, RecordKey } from '../../store/store.ts';
import { ownerIdOf } from '../compiled.ts';
import type { DocumentForm } from './document-form.ts';

interface OtherLogins {
  /** Enabled now, and not part of what is restored: with a restored login, the route would have two. */
  readonly enabled: readonly RecordKey[];
  /** The others must stay absent or disabled. */
  readonly expect: readonly Expectation[];
}

/** The login modules beside those that are restored, on the same routes. */
export function otherLogins(
  restored: readonly (DocumentForm & { readonly item: HistoryItem })[],
  changedIds: ReadonlySet<string>,
  reader: RecordReader,
): OtherLogins {
  const enabled = new Map<string, RecordKey>();
  const expect = new Map<string, Expectation>();
  for (const { module, owner, item } of restored) {
    if (module?.module.isLogin !== true || item.before?.doc['enabled'] === false) continue;
    for (const other of owner.modules) {
      const key = other.keyOn(ownerIdOf(item.id));
      if (other.module.isLogin !== true || changedIds.has(key.id)) continue;
      const record = reader.get(key.kind, key.id);
      expect.set(key.id, { ...key, revision: record?.revision ?? 'absent' });
      if (record !== undefined && record.doc['enabled'] !== false) enabled.set(key.id, key);
    }
  }
  return { enabled: [...enabled.values()], expect: [...expect.values()] };
}
