import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  claim,
  claimOne,
  destinationPut,
  event,
  FAR_MS,
  ledger,
  oneLane,
  outcome,
  settlement,
  subscriptionPut,
} from './lane-world.ts';
import { committed, type OpenStore } from './store-under-test.ts';

export function lanes(openStore: OpenStore): void {
  test('a lane has one holder at a time, in the order of the commits', async (t) => {
    const { store } = await openStore(t);
    await oneLane(store);
    const events = Array.from({ length: 5 }, () => event());
    for (const each of events) await committed(store, { events: [each] });
    const claims = await Promise.all(Array.from({ length: 8 }, (_, at) => claim(store, 1_000, `owner${at}`, 3)));
    const [lane, ...others] = claims.flat();
    assert.deepEqual(others, []);
    assert.deepEqual(
      lane?.deliveries.map((each) => each.event.id),
      events.slice(0, 3).map(({ id }) => id),
    );
    assert.deepEqual(await claim(store, 1_009), []);
    assert.equal((await claim(store, 1_010)).length, 1);
  });

  test('a settlement writes outcomes, keeps the lane and returns the next deliveries', async (t) => {
    const { store } = await openStore(t);
    await oneLane(store);
    const events = Array.from({ length: 4 }, () => event());
    await committed(store, { events });
    const lane = await claimOne(store, 1_000);
    const [one, two, three] = lane.deliveries.map(({ id }) => id) as [string, string, string];
    const next = await store.deliveries.settle(
      settlement(lane, {
        outcomes: [
          outcome(one),
          { ...outcome(two, 'dead'), refusals: 5 },
          { ...outcome(three, 'pending'), refusals: 1 },
        ],
        untilMs: 2_000,
        maxDeliveries: 1,
      }),
    );
    assert.deepEqual(next, [
      { id: three, event: events[2], attempts: outcome(three).attempts, refusals: 1, createdAtMs: 100 },
    ]);
    assert.deepEqual(await claim(store, 1_999, 'other'), []);
    const delivered = await store.deliveries.get(one);
    assert.deepEqual([delivered?.state, delivered?.nextAttemptAtMs], ['delivered', null]);
    assert.deepEqual(delivered?.attempts, outcome(one).attempts);
    assert.deepEqual(await ledger(store), {
      'esb_1 ed_1': '4 = 2 pending + 1 delivered + 1 dead + 0 cancelled + 0 pruned',
    });
  });

  test('an empty lane is released automatically', async (t) => {
    const { store } = await openStore(t);
    await oneLane(store);
    await committed(store, { events: [event()] });
    const lane = await claimOne(store, 1_000);
    const settled = settlement(lane, { outcomes: [outcome(lane.deliveries[0]?.id ?? '')], untilMs: 9_000 });
    assert.deepEqual(await store.deliveries.settle(settled), []);
    await committed(store, { events: [event()] });
    assert.equal((await claim(store, 1_000, 'other')).length, 1);
    assert.equal(await store.deliveries.settle(settlement(lane)), null);
  });

  test('a holder that lost a lane writes nothing', async (t) => {
    const { store } = await openStore(t);
    await oneLane(store);
    await committed(store, { events: [event()] });
    const lost = await claimOne(store, 1_000, 'old');
    const held = await claimOne(store, 1_010, 'new');
    assert.ok(held.fence > lost.fence);
    const late = settlement(lost, { owner: 'old', outcomes: [outcome(lost.deliveries[0]?.id ?? '', 'dead')] });
    assert.equal(await store.deliveries.settle(late), null);
    assert.equal((await store.deliveries.list({ state: 'pending' }, { beforeId: null, limit: 9 })).length, 1);
    assert.deepEqual(await store.deliveries.renew('old', [lost], FAR_MS), []);
    assert.deepEqual(await store.deliveries.renew('new', [], FAR_MS), []);
    assert.deepEqual(await store.deliveries.renew('new', [held], 2_000), [
      { subscriptionId: 'esb_1', destinationId: 'ed_1', fence: held.fence },
    ]);
    assert.deepEqual(await claim(store, 1_999, 'old'), []);
    assert.equal((await claim(store, 2_000, 'old')).length, 1);
  });

  test('a waiting lane is due at its time, when the server starts, or when its destination changes', async (t) => {
    const { store } = await openStore(t);
    await oneLane(store);
    await committed(store, { events: [event()] });
    const wait = { failures: 3, failingCount: 4, failingSinceMs: 900, nextAttemptAtMs: 5_000 };
    const waiting = async (nowMs: number) => store.deliveries.settle(settlement(await claimOne(store, nowMs), wait));
    await waiting(1_000);
    const idle = await store.deliveries.claim({
      owner: 'me',
      nowMs: 4_999,
      untilMs: 9_999,
      maxLanes: 1,
      maxDeliveries: 1,
    });
    assert.deepEqual(idle, { lanes: [], nextDueMs: 5_000 });
    const [pending] = await store.deliveries.list({}, { beforeId: null, limit: 1 });
    assert.equal(pending?.nextAttemptAtMs, 5_000);
    const again = await claimOne(store, 5_000);
    assert.deepEqual([again.failures, again.failingCount, again.failingSinceMs], [3, 4, 900]);
    await store.deliveries.settle(settlement(again, wait));

    await store.deliveries.wakeLanes(1_000, { isAlone: false });
    const woken = await claimOne(store, 1_000);
    assert.equal(woken.failures, 3);
    // The current claim does not know of the change, and must not make the lane wait in spite of it.
    await committed(store, { puts: [destinationPut('ed_1')] });
    await store.deliveries.settle(settlement(woken, wait));
    const changed = await claimOne(store, 1_000);
    assert.deepEqual([changed.failures, changed.failingCount, changed.failingSinceMs], [0, 0, null]);
    await store.deliveries.wakeLanes(1_000, { isAlone: false });
    assert.deepEqual(await claim(store, 1_000, 'other'), []);
    await store.deliveries.wakeLanes(1_000, { isAlone: true });
    assert.equal((await claim(store, 1_000, 'other')).length, 1);
  });

  test('an inactive destination holds its lanes, and new deliveries wait', async (t) => {
    const { store } = await openStore(t);
    await oneLane(store);
    await committed(store, { events: [event()] });
    const lane = await claimOne(store, 1_000);
    await committed(store, { puts: [destinationPut('ed_1', 'paused')], events: [event()] });
    assert.deepEqual(await store.deliveries.settle(settlement(lane, { untilMs: 2_000 })), []);
    assert.deepEqual(await claim(store, FAR_MS), []);
    const [pending] = await store.deliveries.list({}, { beforeId: null, limit: 1 });
    assert.equal(pending?.nextAttemptAtMs, null);
    await committed(store, { puts: [destinationPut('ed_1')] });
    const resumed = await claimOne(store, 1_000);
    assert.equal(resumed.deliveries.length, 2);
    // A holder that does not know of the resume cannot hold the lane permanently.
    await store.deliveries.settle(settlement(resumed, { isHeld: true }));
    assert.equal((await claim(store, 1_000)).length, 1);
  });

  test('a lane younger than the pause of its destination is held once noticed', async (t) => {
    const { store } = await openStore(t);
    await committed(store, { puts: [destinationPut('ed_1', 'paused'), subscriptionPut('esb_1', ['x.v0'], ['ed_1'])] });
    await committed(store, { events: [event()] });
    await store.deliveries.settle(settlement(await claimOne(store, 1_000), { isHeld: true }));
    assert.deepEqual(await claim(store, FAR_MS), []);
    assert.equal((await store.deliveries.ledger())[0]?.isHeld, true);
  });
}
