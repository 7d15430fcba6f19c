import type { Clock } from '../../lib/clock.ts';
import type { OnlinePort } from '../../resources/ports.ts';
import type { Store } from '../../store/store.ts';

/** What is online according to the leases of all processes, for one that other processes do not tell. */
export function onlineInStore({ presence }: Pick<Store, 'presence'>, clock: Clock): OnlinePort {
  return {
    get: (kind, id) => presence.get(kind, id, clock.nowMs()),
    list: (kind, query) => presence.list(kind, { ...query, nowMs: clock.nowMs() }),
  };
}
