import type { OthersWrites } from '../../api/others-writes.ts';
import type { FollowedRecords } from '../../modules/contract/keeps-state.ts';
import type { Module } from '../../modules/contract/module.ts';
import type { FollowedReplica } from '../../replica/followed-replica.ts';
import type { RecordKey, Store } from '../../store/store.ts';

interface Sources {
  readonly store: Pick<Store, 'commit'>;
  readonly replica: FollowedReplica;
  readonly recompile: (kind: string, id: string) => void;
  readonly others: Pick<OthersWrites, 'isCurrent' | 'catchUp'>;
}

/** Records that a module's runtime follows. Throws for kinds that the module does not declare. */
export function followedRecords(
  module: Pick<Module, 'name' | 'recordKinds' | 'followedKinds'>,
  { store, replica, recompile, others }: Sources,
): FollowedRecords {
  const own = new Set(module.recordKinds ?? []);
  const known = new Set([...own, ...(module.followedKinds ?? [])]);
  const declared = (kinds: ReadonlySet<string>, kind: string): string => {
    if (kinds.has(kind)) return kind;
    throw new Error(`the ${module.name} module does not declare the record kind ${kind}`);
  };
  return {
    all: (kind) => replica.all(declared(known, kind)),
    get: (kind, id) => replica.get(declared(known, kind), id),
    onChange: (listener) =>
      replica.onChange((changes) => {
        const followed: RecordKey[] = [];
        for (const change of changes) {
          const { kind, id } = change.op === 'put' ? change.record : change.key;
          if (known.has(kind)) followed.push({ kind, id });
        }
        if (followed.length > 0) listener(followed);
      }, known),
    write: async (puts, unchanged = []) => {
      const committed = await store.commit({
        expect: [
          ...puts.map(({ kind, id, seen }) => ({ kind, id, revision: seen?.revision ?? ('absent' as const) })),
          ...unchanged.map(({ kind, id, revision }) => ({ kind, id, revision })),
        ],
        puts: puts.map(({ kind, id, parent, doc }) => ({
          kind: declared(own, kind),
          id,
          parent,
          doc,
          secrets: null,
          uniqueKeys: [],
          references: [],
        })),
      });
      // The replica was behind: the caller looks again later.
      if (!committed.ok) await replica.refresh();
      return committed.ok;
    },
    remove: async (kind, id) => {
      await store.commit({ deletes: [{ kind: declared(own, kind), id }] });
    },
    refresh: () => replica.refresh(),
    catchUp: () => others.catchUp(),
    isCurrent: () => others.isCurrent,
    recompile,
  };
}
