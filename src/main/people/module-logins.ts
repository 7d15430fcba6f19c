import type { LoginRecords } from '../../modules/contract/login-store.ts';
import type { NodeNews } from '../../nodes/news/node-news.ts';
import type { Store } from '../../store/store.ts';

/** The logins of the store, for modules. Linked nodes tell of theirs sooner than the database, and without it. */
export function moduleLogins(store: Pick<Store, 'logins' | 'sharing'>, news: NodeNews | null): LoginRecords {
  const { logins: stored } = store;
  return {
    ...stored,
    ...(news !== null &&
      ({
        changesSince: (seq) => news.loginsSince(seq),
        onChanged: (listener) => {
          const stops = [stored.onChanged(listener), news.onLogins(listener)];
          return () => {
            for (const stop of stops) stop();
          };
        },
      } satisfies Partial<typeof stored>)),
    threads: null,
    get isShared() {
      return store.sharing.isShared;
    },
  };
}
