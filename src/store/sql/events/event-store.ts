import type { EventStore } from '../../store.ts';
import { openEvent, sealEvent } from '../sealing/seal.ts';
import type { SqlEngine } from '../sql-engine.ts';

export function createEventStore(engine: SqlEngine, announceEnqueued: () => void): EventStore {
  return {
    list: async (query) => (await engine.read('listEvents', query)).map(openEvent),
    get: async (id) => {
      const event = await engine.read('getEvent', id);
      return event === null ? null : openEvent(event);
    },
    count: () => engine.read('countEvents'),
    record: async (events) => {
      if (events.length === 0) return 0;
      const recorded = await engine.write('recordEvents', events.map(sealEvent));
      if (recorded > 0) announceEnqueued();
      return recorded;
    },
  };
}
