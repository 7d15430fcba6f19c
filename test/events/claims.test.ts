import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Deliverer, type DelivererOptions, startDeliveryUpkeep } from '../../src/control/events/delivery/deliverer.ts';
import type { EventMessage, SendOutcome } from '../../src/control/events/destinations/destination-kind.ts';
import type { Store } from '../../src/store/store.ts';
import { event, ledger, oneLane, subscriptionPut } from '../store/conformance/lane-world.ts';
import { committed } from '../store/conformance/store-under-test.ts';
import { emptyLocation, openAt } from '../store/engines.ts';

const quiet = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const DELIVERED: SendOutcome = { verdict: 'delivered', status: 204, error: null };

type Send = (message: EventMessage, signal: AbortSignal) => Promise<SendOutcome>;

function options(store: Store, send: Send, given: Partial<DelivererOptions> = {}): DelivererOptions {
  return {
    store: store.deliveries,
    clock: { nowMs: () => Date.now() },
    log: quiet,
    policy: { retryWindowMs: 1e9, suspendAfterMs: 1e9, random: () => 0.5 },
    senders: new Map([['test', { send: (_config, message, signal) => send(message, signal), close: async () => {} }]]),
    targetOf: () => ({ state: 'open', kind: 'test', config: {} }),
    suspend: async () => {},
    attempted: () => {},
    suspended: () => {},
    owner: 'one',
    isAlone: true,
    maxLanes: 10,
    ...given,
  };
}

test('a sender slower than its lease keeps its lane, and one that lost it stops and writes nothing', async (t) => {
  const location = await emptyLocation(t, 'sqlite');
  const store = await openAt(location);
  await oneLane(store);
  const begun: AbortSignal[] = [];
  const started = Promise.withResolvers<void>();
  const deliverer = await Deliverer.start(
    options(store, (_message, signal) => {
      begun.push(signal);
      started.resolve();
      return new Promise((resolve) => signal.addEventListener('abort', () => resolve(DELIVERED)));
    }),
  );
  await committed(store, { events: [event()] });
  await started.promise;
  // Another process takes over, by whose clock this process has been away for too long.
  const nowMs = Date.now() + 60_000;
  const taken = await store.deliveries.claim({
    owner: 'two',
    nowMs,
    untilMs: nowMs + 60_000,
    maxLanes: 1,
    maxDeliveries: 1,
  });
  assert.equal(taken.lanes.length, 1);
  const [signal] = begun;
  assert.ok(signal);
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve));
  await deliverer.close(0);
  assert.deepEqual(await ledger(store), {
    'esb_1 ed_1': '1 = 1 pending + 0 delivered + 0 dead + 0 cancelled + 0 pruned',
  });
});

test('limits concurrent lanes, and all get their turn', async (t) => {
  const location = await emptyLocation(t, 'sqlite');
  const store = await openAt(location);
  await oneLane(store);
  const lanes = Array.from({ length: 9 }, (_, at) => `esb_${at + 2}`);
  await committed(store, { puts: lanes.map((id) => subscriptionPut(id, ['x.v0'], ['ed_1'])) });
  let running = 0;
  let most = 0;
  const deliverer = await Deliverer.start(
    options(
      store,
      async () => {
        running += 1;
        most = Math.max(most, running);
        await new Promise((resolve) => setTimeout(resolve, 2));
        running -= 1;
        return DELIVERED;
      },
      { maxLanes: 3 },
    ),
  );
  for (let count = 0; count < 20; count += 1) await committed(store, { events: [event()] });
  const isDone = async () => (await store.deliveries.ledger()).every(({ pending }) => pending === 0);
  while (!(await isDone())) await new Promise((resolve) => setTimeout(resolve, 10));
  await deliverer.close(1_000);
  assert.equal(most, 3);
  const delivered = (await store.deliveries.ledger()).map((lane) => lane.delivered);
  assert.deepEqual(delivered, Array(10).fill(20));
});

test('a closing deliverer lets deliveries in progress end, then releases its lanes', async (t) => {
  const location = await emptyLocation(t, 'sqlite');
  const store = await openAt(location);
  await oneLane(store);
  const started = Promise.withResolvers<void>();
  const ending = Promise.withResolvers<SendOutcome>();
  const deliverer = await Deliverer.start(
    options(store, () => {
      started.resolve();
      return ending.promise;
    }),
  );
  await committed(store, { events: [event(), event()] });
  await started.promise;
  const closed = deliverer.close(60_000);
  ending.resolve(DELIVERED);
  await closed;
  assert.deepEqual(await ledger(store), {
    'esb_1 ed_1': '2 = 1 pending + 1 delivered + 0 dead + 0 cancelled + 0 pruned',
  });
  const { lanes } = await store.deliveries.claim({
    owner: 'two',
    nowMs: Date.now(),
    untilMs: Date.now() + 1,
    maxLanes: 1,
    maxDeliveries: 1,
  });
  assert.equal(lanes.length, 1);
});

test('a delivery cut at the close deadline counts as not attempted', async (t) => {
  const location = await emptyLocation(t, 'sqlite');
  const store = await openAt(location);
  await oneLane(store);
  const started = Promise.withResolvers<void>();
  const deliverer = await Deliverer.start(
    options(store, (_message, signal) => {
      started.resolve();
      return new Promise((resolve) => {
        signal.addEventListener('abort', () => resolve({ verdict: 'wait', status: null, error: 'given up' }));
      });
    }),
  );
  await committed(store, { events: [event()] });
  await started.promise;
  await deliverer.close(0);
  const [delivery] = await store.deliveries.list({}, { beforeId: null, limit: 1 });
  assert.deepEqual([delivery?.state, delivery?.attempts], ['pending', []]);
});

test('deletes aged deliveries at the start and periodically', async (t) => {
  const location = await emptyLocation(t, 'sqlite');
  const store = await openAt(location);
  await oneLane(store);
  const clock = { ms: 1_000, nowMs: () => clock.ms };
  await committed(store, { events: [event('x.v0', 0), event('x.v0', 999)] });
  const kept = { deliveredMs: 100, deadMs: 100, pendingMs: 500 };
  const upkeep = startDeliveryUpkeep({ store: store.deliveries, clock, log: quiet, ...kept, everyMs: 10 });
  const pendingBecomes = async (count: number) => {
    while ((await store.deliveries.ledger())[0]?.pending !== count) await new Promise((done) => setTimeout(done, 5));
  };
  await pendingBecomes(1);
  clock.ms = 2_000;
  await pendingBecomes(0);
  await upkeep.close();
  assert.equal(await store.events.count(), 0);
});
