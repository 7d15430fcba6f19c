import assert from 'node:assert/strict';
import { test } from 'node:test';
import { claimOne, event, ledger, oneLane, outcome, settlement } from './lane-world.ts';
import { committed, type OpenStore } from './store-under-test.ts';

const KEEP_ALL = { nowMs: 1_000, endedBeforeMs: 0, deadBeforeMs: 0, pendingBeforeMs: 0 };

export function retention(openStore: OpenStore): void {
  test('prune deletes aged deliveries and their events, and the ledger still balances', async (t) => {
    const { store } = await openStore(t, { clock: { nowMs: () => 600 } });
    await oneLane(store);
    await committed(store, { events: Array.from({ length: 1_100 }, () => event('x.v0', 100)) });
    await committed(store, { events: [event('x.v0', 800), event('unwanted.v0', 50)] });
    const lane = await claimOne(store, 1_000);
    const [first, second] = lane.deliveries.map(({ id }) => id) as [string, string];
    await store.deliveries.settle(
      settlement(lane, { outcomes: [outcome(first), outcome(second, 'dead')], nowMs: 500 }),
    );

    assert.equal(await store.deliveries.prune(KEEP_ALL), 0);
    assert.equal(await store.deliveries.prune({ ...KEEP_ALL, endedBeforeMs: 500, deadBeforeMs: 500 }), 0);
    assert.equal(await store.deliveries.prune({ ...KEEP_ALL, endedBeforeMs: 501 }), 1);
    assert.equal(await store.deliveries.get(first), null);
    assert.equal(
      await store.deliveries.prune({ nowMs: 1_000, endedBeforeMs: 501, deadBeforeMs: 501, pendingBeforeMs: 101 }),
      1_099,
    );
    assert.deepEqual(await ledger(store), {
      'esb_1 ed_1': '1101 = 1 pending + 1 delivered + 1 dead + 0 cancelled + 1098 pruned',
    });
    // The pending delivery keeps its event; the event that nobody wanted was pruned by age.
    assert.equal(await store.events.count(), 1);
  });

  test('a delivery dated in the future does not keep others from ageing out', async (t) => {
    const { store } = await openStore(t);
    await oneLane(store);
    await committed(store, { events: [event(), event(), event()] });
    const settleOne = async (nowMs: number): Promise<string> => {
      const lane = await claimOne(store, 1_000);
      const id = lane.deliveries[0]?.id ?? '';
      await store.deliveries.settle(settlement(lane, { outcomes: [outcome(id)], nowMs }));
      return id;
    };
    const ahead = await settleOne(900_000);
    await settleOne(500);
    const young = await settleOne(700);
    assert.equal(await store.deliveries.prune({ ...KEEP_ALL, endedBeforeMs: 600 }), 1);
    const left = await store.deliveries.list({}, { beforeId: null, limit: 9 });
    assert.deepEqual(
      left.map(({ id }) => id),
      [young, ahead],
    );
    assert.equal(await store.deliveries.prune({ ...KEEP_ALL, nowMs: 910_000, endedBeforeMs: 900_001 }), 2);
  });

  test('an event stays as long as any delivery of it, including a replay', async (t) => {
    const { store } = await openStore(t);
    await oneLane(store);
    const kept = event();
    await committed(store, { events: [kept] });
    const lane = await claimOne(store, 1_000);
    const id = lane.deliveries[0]?.id ?? '';
    await store.deliveries.settle(settlement(lane, { outcomes: [outcome(id)], nowMs: 500 }));
    await store.deliveries.replay(id, 'again', 900);
    assert.equal(
      await store.deliveries.prune({ nowMs: 1_000, endedBeforeMs: 800, deadBeforeMs: 800, pendingBeforeMs: 800 }),
      1,
    );
    assert.deepEqual((await store.deliveries.get('again'))?.event, kept);
  });

  test('the lane of a deleted subscription is deleted with its last delivery', async (t) => {
    const { store } = await openStore(t, { clock: { nowMs: () => 600 } });
    await oneLane(store);
    await committed(store, { events: [event()] });
    await committed(store, { deletes: [{ kind: 'event_subscription', id: 'esb_1' }] });
    await store.deliveries.prune({ ...KEEP_ALL, endedBeforeMs: 600 });
    assert.equal((await store.deliveries.ledger()).length, 1);
    await store.deliveries.prune({ ...KEEP_ALL, endedBeforeMs: 601 });
    assert.deepEqual(await store.deliveries.ledger(), []);
    assert.equal(await store.events.count(), 0);
  });
}
