import type { OthersWrites } from '../../../control/api/others-writes.ts';
import { storeErrors } from '../../../store/errors.ts';
import type { Replica } from '../../../store/replica/replica.ts';
import type { Store } from '../../../store/store.ts';
import type { NodeNews } from '../../../tunnel/nodes/news/node-news.ts';

/** A client waits for it: more than twenty round trips to a database 200 ms away. */
const CATCH_UP_MS = 5_000;

/** What other nodes wrote. A store that only this process uses contains nothing else. */
export function othersWrites(store: Store, replica: Replica, news: NodeNews | null): OthersWrites {
  return {
    get revision() {
      return replica.heardRevision;
    },
    get isCurrent() {
      return news?.isCurrent !== false;
    },
    get behind() {
      return news?.behind ?? null;
    },
    catchUp: async () => {
      if (!store.sharing.isShared) return;
      const reading = news === null ? replica.refresh() : news.catchUp(CATCH_UP_MS);
      await reading.catch(() => {
        throw unread();
      });
      // Until then keys count as unknown.
      await news?.behind;
    },
  };
}

function unread(): Error {
  return storeErrors.create(
    'ERR_POSTERN_STORE_UNAVAILABLE',
    'the store does not answer, so this node does not know what other nodes have changed: nothing was written, send the request again',
  );
}
