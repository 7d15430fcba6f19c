import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Store } from '../../../src/store/store.ts';
import {
  claimOne,
  destinationPut,
  event,
  ledger,
  oneLane,
  outcome,
  settlement,
  subscriptionPut,
} from './lane-world.ts';
import { assertRefused, committed, type OpenStore, put } from './store-under-test.ts';

async function eventIds(store: Store, subscriptionId?: string): Promise<string[]> {
  const found = await store.deliveries.list(subscriptionId === undefined ? {} : { subscriptionId }, {
    beforeId: null,
    limit: 1_000,
  });
  return found.map((delivery) => `${delivery.event.id} ${delivery.subscriptionId} ${delivery.destinationId}`).sort();
}

export function enqueueing(openStore: OpenStore): void {
  test('enqueues an event with its write, for every lane that wants its type, and no other', async (t) => {
    const { store } = await openStore(t);
    let calls = 0;
    store.deliveries.onEnqueued(() => {
      calls += 1;
    });
    await committed(store, {
      puts: [
        destinationPut('ed_1'),
        destinationPut('ed_2', 'paused'),
        subscriptionPut('esb_1', ['a.v0', 'b.v0'], ['ed_1', 'ed_2']),
        subscriptionPut('esb_2', ['b.v0'], ['ed_1']),
        // A wildcard of LIKE must not make one type match another.
        subscriptionPut('esb_3', ['a-v0', 'A.v0'], ['ed_1']),
      ],
    });
    const [a, b, c] = [event('a.v0'), event('b.v0'), event('c.v0')];
    await committed(store, { puts: [put('edge', 'e1')], events: [a, b, c] });
    assert.deepEqual(await eventIds(store), [
      `${a.id} esb_1 ed_1`,
      `${a.id} esb_1 ed_2`,
      `${b.id} esb_1 ed_1`,
      `${b.id} esb_1 ed_2`,
      `${b.id} esb_2 ed_1`,
    ]);
    assert.equal(calls, 1);
    const [first] = await store.deliveries.list({}, { beforeId: null, limit: 1 });
    assert.match(first?.id ?? '', /^evd_[0-9A-Za-z]{27}$/);
    await assertRefused(
      store,
      { expect: [{ kind: 'edge', id: 'e1', revision: 'absent' }], events: [event('a.v0')] },
      { reason: 'conflict', key: { kind: 'edge', id: 'e1' }, actual: 2 },
    );
    assert.equal((await eventIds(store)).length, 5);
  });

  test('a changed subscription sees its own change as it was before, and a deleted one sees nothing', async (t) => {
    const { store } = await openStore(t);
    await committed(store, { puts: [destinationPut('ed_1')] });
    await committed(store, { puts: [subscriptionPut('esb_1', ['x.v0'], ['ed_1'])], events: [event()] });
    assert.deepEqual(await eventIds(store), []);
    const told = event();
    await committed(store, { puts: [subscriptionPut('esb_1', ['y.v0'], ['ed_1'])], events: [told] });
    await committed(store, { events: [event()] });
    assert.deepEqual(await eventIds(store), [`${told.id} esb_1 ed_1`]);
    await committed(store, { deletes: [{ kind: 'event_subscription', id: 'esb_1' }], events: [event('y.v0')] });
    assert.deepEqual(await eventIds(store), [`${told.id} esb_1 ed_1`]);
  });

  test('keeps an uncertain event only if a lane wants it when it is written', async (t) => {
    const { store } = await openStore(t);
    await oneLane(store);
    const [wanted, unwanted, certain] = [event(), event('y.v0'), event('y.v0')];
    await committed(store, {
      puts: [put('edge', 'e1')],
      events: [{ ...wanted, isUncertain: true }, { ...unwanted, isUncertain: true }, certain],
    });
    const kept = await store.events.list({ beforeId: null, limit: 10 });
    assert.deepEqual(kept.map(({ id }) => id).sort(), [wanted.id, certain.id].sort());
    assert.equal((await eventIds(store)).length, 1);
    assert.deepEqual(
      [...store.stats().events],
      [
        ['x.v0', 1],
        ['y.v0', 1],
      ],
    );
  });

  test('writes that share a commit see the subscriptions left by earlier ones, in order', async (t) => {
    const { store } = await openStore(t);
    await committed(store, {
      puts: [destinationPut('ed_1'), destinationPut('ed_2'), subscriptionPut('esb_all', ['x.v0', 'y.v0'], ['ed_2'])],
    });
    const [a, b, c, d, e, f, g] = [event(), event(), event(), event('y.v0'), event(), event('y.v0'), event('y.v0')];
    const commitsBefore = store.stats().commits;
    await Promise.all([
      committed(store, { puts: [put('edge', 'e1')], events: [a] }),
      committed(store, { puts: [subscriptionPut('esb_1', ['x.v0'], ['ed_1'])] }),
      committed(store, { puts: [put('edge', 'e2')], events: [b] }),
      committed(store, { puts: [subscriptionPut('esb_1', ['y.v0'], ['ed_1'])], events: [c] }),
      store.events.record([d, e]),
      committed(store, { puts: [put('edge', 'e3')], events: [f] }),
      committed(store, { deletes: [{ kind: 'event_subscription', id: 'esb_1' }], events: [g] }),
    ]);
    assert.equal(store.stats().commits, commitsBefore + 1);
    assert.deepEqual(
      await eventIds(store, 'esb_1'),
      [b, c, d, f].map(({ id }) => `${id} esb_1 ed_1`),
    );
    assert.deepEqual(await ledger(store), {
      'esb_1 ed_1': '4 = 0 pending + 0 delivered + 0 dead + 4 cancelled + 0 pruned',
      'esb_all ed_2': '7 = 7 pending + 0 delivered + 0 dead + 0 cancelled + 0 pruned',
    });
    assert.deepEqual(
      (await claimOne(store, 1_000)).deliveries.map((each) => each.event),
      [a, b, c, d, e, f, g],
    );
    assert.equal(await store.currentRevision(), 7);
    const changes = await store.changesSince(1);
    assert.equal(changes.isComplete && changes.changes.length, 4);
  });

  test('events without a change take no revision, and only wanted ones are kept', async (t) => {
    const { store } = await openStore(t);
    await oneLane(store);
    const revision = await store.currentRevision();
    const wanted = event();
    assert.equal(await store.events.record([event('y.v0'), wanted]), 1);
    assert.equal(await store.events.record([]), 0);
    assert.equal(await store.currentRevision(), revision);
    assert.deepEqual(await store.events.get(wanted.id), wanted);
    assert.equal(await store.events.count(), 1);
    assert.deepEqual(
      (await claimOne(store, 1_000)).deliveries.map((each) => each.event),
      [wanted],
    );
  });

  test('deleting a subscription, or removing a destination from it, cancels its pending deliveries only', async (t) => {
    const { store } = await openStore(t);
    await committed(store, {
      puts: [
        destinationPut('ed_1'),
        destinationPut('ed_2'),
        subscriptionPut('esb_1', ['x.v0'], ['ed_1', 'ed_2']),
        subscriptionPut('esb_2', ['x.v0'], ['ed_1']),
      ],
    });
    await committed(store, { events: [event(), event()] });
    const { lanes } = await store.deliveries.claim({
      owner: 'me',
      nowMs: 100,
      untilMs: 200,
      maxLanes: 10,
      maxDeliveries: 10,
    });
    const held = lanes.find((lane) => lane.subscriptionId === 'esb_1' && lane.destinationId === 'ed_1');
    assert.ok(held);
    const [first, second] = held.deliveries;
    await store.deliveries.settle(settlement(held, { outcomes: [outcome(first?.id ?? '')], untilMs: 200 }));

    await committed(store, { puts: [subscriptionPut('esb_1', ['x.v0'], ['ed_1'])] });
    assert.deepEqual(await ledger(store), {
      'esb_1 ed_1': '2 = 1 pending + 1 delivered + 0 dead + 0 cancelled + 0 pruned',
      'esb_1 ed_2': '2 = 0 pending + 0 delivered + 0 dead + 2 cancelled + 0 pruned',
      'esb_2 ed_1': '2 = 2 pending + 0 delivered + 0 dead + 0 cancelled + 0 pruned',
    });
    await committed(store, { deletes: [{ kind: 'event_subscription', id: 'esb_1' }] });
    assert.equal((await store.deliveries.get(second?.id ?? ''))?.state, 'cancelled');
    // The delivery was in progress when it was cancelled: its outcome no longer changes anything.
    await store.deliveries.settle(settlement(held, { outcomes: [outcome(second?.id ?? '')] }));
    assert.deepEqual(await ledger(store), {
      'esb_1 ed_1': '2 = 0 pending + 1 delivered + 0 dead + 1 cancelled + 0 pruned',
      'esb_1 ed_2': '2 = 0 pending + 0 delivered + 0 dead + 2 cancelled + 0 pruned',
      'esb_2 ed_1': '2 = 2 pending + 0 delivered + 0 dead + 0 cancelled + 0 pruned',
    });
  });
}
