import { COUNTRIES, type KnownLists, listSource } from '../../lists/known-lists.ts';
import type { FollowedReplica } from '../../replica/followed-replica.ts';
import type { Snapshots } from '../../snapshot/snapshots.ts';

export const LIST_KIND = 'ip_policy_list';

/** Compiles the edges again whose lists have other addresses, which also judges their streams again. */
export function followLists(
  known: KnownLists,
  replica: Pick<FollowedReplica, 'all'>,
  snapshots: Pick<Snapshots, 'recompile'>,
): () => void {
  return known.onNews(({ id }) => {
    if (id !== COUNTRIES) return snapshots.recompile(LIST_KIND, id);
    for (const record of [...replica.all(LIST_KIND)])
      if (listSource(record.doc) === COUNTRIES) snapshots.recompile(LIST_KIND, record.id);
  });
}
