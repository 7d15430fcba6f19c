import type { ModuleRecords } from '../../modules/contract/keeps-state.ts';
import type { Module } from '../../modules/contract/module.ts';
import { addSealedRecord, type FollowedReplica } from '../../replica/followed-replica.ts';
import type { Store } from '../../store/store.ts';

/** Records of the kinds that a module declares. Throws for every other kind: they belong to somebody else. */
export function moduleRecords(
  module: Pick<Module, 'name' | 'recordKinds'>,
  store: Pick<Store, 'commit'>,
  replica: FollowedReplica,
): ModuleRecords {
  const own = (kind: string): string => {
    if (module.recordKinds?.includes(kind) === true) return kind;
    throw new Error(`the ${module.name} module does not declare the record kind ${kind}`);
  };
  return {
    list: (kind) =>
      [...replica.all(own(kind))].map(({ id, doc, secrets }) => {
        const [pointer, sealed] = Object.entries(secrets ?? {})[0] ?? ['/', '""'];
        return { id, doc, secret: { field: pointer.slice(1), text: JSON.parse(sealed) as string } };
      }),
    add: (kind, { id, doc, secret }) =>
      addSealedRecord(store, replica, {
        kind: own(kind),
        id,
        doc,
        field: `/${secret.field}`,
        secret: secret.text,
      }),
    remove: async (kind, id) => {
      await store.commit({ deletes: [{ kind: own(kind), id }] });
    },
  };
}
