import type { Delivery, DeliveryAttempt, DeliveryStore, EventStore, PendingDelivery } from '../../store.ts';
import { notifyListeners } from '../listeners.ts';
import { openEvent, sealEvent } from '../seal.ts';
import type { SqlEngine } from '../sql-engine.ts';
import type { TimeAt } from '../statement.ts';
import { recordEvents } from '../write-group.ts';
import { claimLanes, readDueLanes, renewLanes, settleLane, wakeLanes } from './delivery-claims.ts';
import { listReplayable, putDeliveries, replayDeliveries } from './delivery-enqueue.ts';
import { pruneDeliveries, pruneEventsAndLanes, readAgedParts } from './delivery-prune.ts';
import {
  countEvents,
  type DeliveryRow,
  getDelivery,
  getEvent,
  listDeliveries,
  listEvents,
  listPendingTypes,
  type PendingRow,
  readDeliverySeq,
} from './delivery-rows.ts';
import { readLedger } from './lane-rows.ts';

const PER_TRANSACTION = 500;

interface OpenedDeliveryStore {
  readonly store: DeliveryStore;
  /** Called when a write has enqueued deliveries. */
  readonly announce: () => void;
}

/** What deliveries ask of the engine. */
export const deliveryPrograms = {
  putDeliveries,
  getDelivery,
  listDeliveries,
  listPendingTypes,
  readDeliverySeq,
  listReplayable,
  replayDeliveries,
  readDueLanes,
  claimLanes,
  renewLanes,
  wakeLanes,
  settleLane,
  readLedger,
  readAgedParts,
  pruneDeliveries,
  pruneEventsAndLanes,
} as const;

export function createDeliveryStore(engine: SqlEngine<typeof deliveryPrograms>, timeAt: TimeAt): OpenedDeliveryStore {
  const listeners = new Set<() => void>();
  const announce = (): void => notifyListeners(listeners, undefined);

  async function get(id: string): Promise<Delivery | null> {
    const row = await engine.read('getDelivery', id);
    return row === null ? null : deliveryOf(row);
  }

  const store: DeliveryStore = {
    put: async (deliveries) => {
      await engine.write(
        'putDeliveries',
        deliveries.map(({ event, attempts, ...rest }) => ({
          ...rest,
          event: sealEvent(event),
          attempts: JSON.stringify(attempts),
        })),
      );
      announce();
    },
    get,
    list: async (filter, query) => (await engine.read('listDeliveries', filter, query)).map(deliveryOf),
    replay: async (id, newId, nowMs) => {
      const [answer] = await engine.write('replayDeliveries', [{ id, newId }], nowMs);
      if (answer !== 'replayed') return answer === 'closed' ? 'closed' : null;
      announce();
      return get(newId);
    },
    pendingTypes: (destinationId) => engine.read('listPendingTypes', destinationId),
    replayMatching: async (filter, { newId, nowMs, isWanted = () => true }) => {
      const upToSeq = await engine.read('readDeliverySeq');
      let replayed = 0;
      for (let afterSeq = 0; ; ) {
        const found = await engine.read('listReplayable', filter, { afterSeq, upToSeq, limit: PER_TRANSACTION });
        const last = found.at(-1);
        if (last === undefined) return replayed;
        afterSeq = last.seq;
        const replays = found.filter(({ type }) => isWanted(type)).map(({ id }) => ({ id, newId: newId() }));
        if (replays.length === 0) continue;
        const answers = await engine.write('replayDeliveries', replays, nowMs);
        const count = answers.filter((answer) => answer === 'replayed').length;
        replayed += count;
        if (count > 0) announce();
      }
    },
    onEnqueued: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    onReset: (release) => engine.history.onReset(release),
    wakeLanes: (nowMs, options) => engine.write('wakeLanes', timeAt(nowMs), options),
    claim: async (options) => {
      const { lanes, nextDueMs } = await engine.read('readDueLanes', timeAt(options.nowMs), options.maxLanes);
      if (lanes.length === 0) return { lanes: [], nextDueMs };
      const claimed = await engine.write('claimLanes', lanes, options, timeAt(options.nowMs));
      return {
        lanes: claimed.map((lane) => ({ ...lane, deliveries: lane.deliveries.map(pendingOf) })),
        nextDueMs,
      };
    },
    renew: (owner, lanes, untilMs) => engine.write('renewLanes', owner, lanes, untilMs, timeAt()),
    settle: async (settlement) => {
      const outcomes = settlement.outcomes.map((outcome) => ({
        ...outcome,
        attempts: JSON.stringify(outcome.attempts),
      }));
      const rows = await engine.write('settleLane', { ...settlement, outcomes }, timeAt(settlement.nowMs));
      return rows === null ? null : rows.map(pendingOf);
    },
    ledger: () => engine.read('readLedger'),
    prune: async (retention) => {
      let pruned = 0;
      for (const part of await engine.read('readAgedParts', retention)) {
        for (let count = PER_TRANSACTION; count === PER_TRANSACTION; pruned += count) {
          count = await engine.write('pruneDeliveries', part, PER_TRANSACTION);
        }
      }
      const { endedBeforeMs, deadBeforeMs, pendingBeforeMs } = retention;
      const oldestMs = Math.min(endedBeforeMs, deadBeforeMs, pendingBeforeMs);
      while ((await engine.write('pruneEventsAndLanes', oldestMs, PER_TRANSACTION)) === PER_TRANSACTION);
      return pruned;
    },
  };
  return { store, announce };
}

function deliveryOf(row: DeliveryRow): Delivery {
  return { ...row, event: openEvent(row.event), attempts: JSON.parse(row.attempts) as DeliveryAttempt[] };
}

function pendingOf(row: PendingRow): PendingDelivery {
  return { ...row, event: openEvent(row.event), attempts: JSON.parse(row.attempts) as DeliveryAttempt[] };
}

/** What events ask of the engine. */
export const eventPrograms = {
  listEvents,
  getEvent,
  countEvents,
  recordEvents,
} as const;

export function createEventStore(engine: SqlEngine<typeof eventPrograms>, announceEnqueued: () => void): EventStore {
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
