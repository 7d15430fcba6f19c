import type { OthersWrites } from '../api/others-writes.ts';
import { within } from '../nodes/membership/within.ts';
import type { Replica } from '../replica/replica.ts';
import { storeErrors } from '../store/errors.ts';
import type { Store } from '../store/store.ts';

/** A client waits for it. */
const CATCH_UP_MS = 500;

/** What other nodes wrote. A store that only this process uses contains nothing else. */
export function othersWrites(store: Store, replica: Replica): OthersWrites {
  return {
    get revision() {
      return replica.revision;
    },
    catchUp: async () => {
      if (!store.sharing.isShared) return;
      const { state, problem } = store.health();
      if (state !== 'ok') throw problem ?? unread();
      await within(replica.refresh(), CATCH_UP_MS, 'changes of other nodes').catch(() => {
        throw unread();
      });
    },
  };
}

function unread(): Error {
  return storeErrors.create(
    'ERR_POSTERN_STORE_UNAVAILABLE',
    'the store does not answer, so this node does not know what other nodes have changed: nothing was written, send the request again',
  );
}
