import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { createKsuidSource } from '../../../src/kit/text/ksuid.ts';
import type { Delivery, DeliveryFilter } from '../../../src/store/store.ts';
import { enqueueing } from './delivery-enqueueing.ts';
import { lanes } from './delivery-lanes.ts';
import { retention } from './delivery-retention.ts';
import { destinationPut, event, ledger, oneLane, outcome, settlement, subscriptionPut } from './lane-world.ts';
import { committed, type OpenStore } from './store-under-test.ts';

function delivery(id: string, rest: Partial<Delivery> = {}): Delivery {
  return {
    id,
    subscriptionId: 'esb_1',
    destinationId: 'ed_1',
    event: { id: `ev_${id}`, type: 'x.v0', createdAtMs: 1, payload: { of: id } },
    state: 'pending',
    attempts: [{ at: '2026-01-01T00:00:00Z', status: 503, error: null, duration_ms: 12 }],
    createdAtMs: 100,
    nextAttemptAtMs: 100,
    ...rest,
  };
}

export function deliveries(openStore: OpenStore): void {
  suite('deliveries', { concurrency: 3 }, () => {
    enqueueing(openStore);
    lanes(openStore);
    retention(openStore);

    test('are put once and read back', async (t) => {
      const { store } = await openStore(t);
      await store.deliveries.put([delivery('d1'), delivery('d1', { state: 'dead' })]);
      assert.deepEqual(await store.deliveries.get('d1'), delivery('d1'));
      assert.equal(await store.deliveries.get('d2'), null);
      assert.deepEqual(await ledger(store), {
        'esb_1 ed_1': '1 = 1 pending + 0 delivered + 0 dead + 0 cancelled + 0 pruned',
      });
    });

    test('filters work alone and combined; since is inclusive, until is not', async (t) => {
      const { store } = await openStore(t);
      await store.deliveries.put([
        delivery('d1', { createdAtMs: 1 }),
        delivery('d2', { createdAtMs: 2, state: 'dead' }),
        delivery('d3', { createdAtMs: 3, subscriptionId: 'esb_2', state: 'dead' }),
        delivery('d4', { createdAtMs: 4, destinationId: 'ed_2' }),
      ]);
      const ids = async (filter: DeliveryFilter, beforeId: string | null = null) =>
        (await store.deliveries.list(filter, { beforeId, limit: 9 })).map(({ id }) => id).join(' ');
      assert.equal(await ids({}), 'd4 d3 d2 d1');
      assert.equal(await ids({}, 'd3'), 'd2 d1');
      assert.equal(await ids({ subscriptionId: 'esb_1' }), 'd4 d2 d1');
      assert.equal(await ids({ destinationId: 'ed_2' }), 'd4');
      assert.equal(await ids({ state: 'dead' }), 'd3 d2');
      assert.equal(await ids({ state: 'dead', subscriptionId: 'esb_1' }), 'd2');
      assert.equal(await ids({ sinceMs: 2, untilMs: 4 }), 'd3 d2');
    });

    test('pages of many lanes and states are in the order of enqueuing, without repeats or gaps', async (t) => {
      const { store } = await openStore(t);
      const states = ['pending', 'delivered', 'dead', 'cancelled'] as const;
      const id = (at: number) => `d${String(at).padStart(4, '0')}`;
      // 30 lanes to each of two destinations, so that a filter by destination is more than one statement.
      const all = Array.from({ length: 240 }, (_, at) =>
        delivery(id(at), {
          subscriptionId: `esb_${at % 30}`,
          destinationId: `ed_${at % 2}`,
          state: states[(at % 7) % 4] ?? 'dead',
        }),
      );
      await store.deliveries.put(all);
      const readAll = async (filter: DeliveryFilter) => {
        const ids: string[] = [];
        for (let beforeId: string | null = null; ; beforeId = ids.at(-1) ?? null) {
          const page = await store.deliveries.list(filter, { beforeId, limit: 9 });
          if (page.length === 0) return ids;
          ids.push(...page.map((each) => each.id));
        }
      };
      const expected = (matches: (each: Delivery) => boolean) =>
        all
          .filter(matches)
          .map((each) => each.id)
          .toReversed();
      assert.deepEqual(
        await readAll({}),
        expected(() => true),
      );
      assert.deepEqual(
        await readAll({ destinationId: 'ed_1' }),
        expected((each) => each.destinationId === 'ed_1'),
      );
      assert.deepEqual(
        await readAll({ state: 'dead' }),
        expected((each) => each.state === 'dead'),
      );
      assert.deepEqual(
        await readAll({ subscriptionId: 'esb_4', state: 'delivered' }),
        expected((each) => each.subscriptionId === 'esb_4' && each.state === 'delivered'),
      );
      // The delivery that ended the last page may have been pruned.
      const after = await store.deliveries.list({}, { beforeId: `${id(100)}x`, limit: 2 });
      assert.deepEqual(
        after.map((each) => each.id),
        [id(100), id(99)],
      );
      assert.deepEqual(await store.deliveries.list({}, { beforeId: 'a', limit: 2 }), []);
    });

    test('a page after a pruned delivery hides none of the same event', async (t) => {
      const { store } = await openStore(t);
      const destinations = ['ed_1', 'ed_2', 'ed_3', 'ed_4'];
      await committed(store, {
        puts: [...destinations.map((id) => destinationPut(id)), subscriptionPut('esb_1', ['x.v0'], destinations)],
      });
      const newId = createKsuidSource();
      const events = [1, 2, 3].map((at) => ({ ...event(), id: `ev_${newId(at)}` }));
      await committed(store, { events });
      const idsOf = async (beforeId: string | null) =>
        (await store.deliveries.list({}, { beforeId, limit: 99 })).map(({ id }) => id);
      const all = await idsOf(null);
      const { lanes } = await store.deliveries.claim({
        owner: 'me',
        nowMs: 1_000,
        untilMs: 2_000,
        maxLanes: 4,
        maxDeliveries: 9,
      });
      // The last of an event's deliveries are pruned first, so that others of the same event could be hidden.
      for (const lane of lanes.toSorted((one, other) => (one.destinationId < other.destinationId ? 1 : -1))) {
        const [first, second] = lane.deliveries.map(({ id }) => id) as [string, string];
        const outcomes = [outcome(first, 'dead'), outcome(second)];
        await store.deliveries.settle(settlement(lane, { outcomes, nowMs: 500 }));
        const wanted = all.slice(all.indexOf(second) + 1);
        await store.deliveries.prune({ nowMs: 900, endedBeforeMs: 900, deadBeforeMs: 0, pendingBeforeMs: 0 });
        const left = await idsOf(null);
        const next = await idsOf(second);
        assert.deepEqual(
          wanted.filter((id) => left.includes(id) && !next.includes(id)),
          [],
        );
        assert.ok(next.length < left.length, 'what is younger than its event is not shown again');
      }
    });

    test('a replay is a new delivery of the same event, pending and due at once', async (t) => {
      const { store } = await openStore(t);
      await oneLane(store);
      const dead = delivery('d1', { state: 'dead', nextAttemptAtMs: null });
      await store.deliveries.put([dead]);
      const replayed = delivery('d2', { event: dead.event, attempts: [], createdAtMs: 900, nextAttemptAtMs: 900 });
      assert.deepEqual(await store.deliveries.replay('d1', 'd2', 900), replayed);
      assert.deepEqual(await store.deliveries.get('d2'), replayed);
      assert.deepEqual(await store.deliveries.get('d1'), dead);
      assert.equal(await store.deliveries.replay('none', 'd3', 900), null);
      assert.deepEqual(await ledger(store), {
        'esb_1 ed_1': '2 = 1 pending + 0 delivered + 1 dead + 0 cancelled + 0 pruned',
      });
    });

    test('replays only wanted types, and knows the queued types', async (t) => {
      const { store } = await openStore(t);
      await oneLane(store);
      const events = Array.from({ length: 600 }, (_, at) => ({ ...event(), type: `t${at % 2}` }));
      await store.deliveries.put([
        ...events.map((each, at) =>
          delivery(`d${String(at).padStart(4, '0')}`, { event: each, state: at < 300 ? 'dead' : 'pending' }),
        ),
        delivery('e1', { event: { ...event(), type: 'done' }, state: 'delivered' }),
        delivery('e2', { event: { ...event(), type: 'elsewhere' }, destinationId: 'ed_2' }),
      ]);
      assert.deepEqual(await store.deliveries.pendingTypes('ed_1'), ['t0', 't1']);
      assert.deepEqual(await store.deliveries.pendingTypes('ed_2'), ['elsewhere']);
      assert.deepEqual(await store.deliveries.pendingTypes('ed_3'), []);
      let count = 0;
      const newId = () => {
        count += 1;
        return `z${count}`;
      };
      const asked = new Set<string>();
      const isWanted = (type: string) => {
        asked.add(type);
        return type === 't1';
      };
      assert.equal(await store.deliveries.replayMatching({ state: 'dead' }, { newId, nowMs: 900, isWanted }), 150);
      assert.deepEqual([count, [...asked].sort()], [150, ['t0', 't1']]);
      const replayed = await store.deliveries.list({ sinceMs: 900 }, { beforeId: null, limit: 999 });
      assert.ok(replayed.length === 150 && replayed.every((each) => each.event.type === 't1'));
    });

    test('does not replay without an open lane', async (t) => {
      const { store } = await openStore(t);
      await oneLane(store);
      await committed(store, { events: [event()] });
      await store.deliveries.put([delivery('d1', { destinationId: 'ed_2' })]);
      assert.equal(await store.deliveries.replay('d1', 'd2', 900), 'closed');
      assert.equal(await store.deliveries.replayMatching({}, { newId: () => 'd3', nowMs: 900 }), 1);
      assert.equal(await store.deliveries.get('d2'), null);
    });

    test('replaying all matches keeps their order and replays no replay', async (t) => {
      const { store } = await openStore(t);
      await oneLane(store);
      const events = Array.from({ length: 1_200 }, () => event());
      await committed(store, { events });
      let count = 0;
      const newId = () => {
        count += 1;
        return `z${String(count).padStart(4, '0')}`;
      };
      assert.equal(await store.deliveries.replayMatching({ subscriptionId: 'esb_1' }, { newId, nowMs: 900 }), 1_200);
      assert.equal(count, 1_200);
      const replayed = await store.deliveries.list({ sinceMs: 900 }, { beforeId: null, limit: 2_000 });
      assert.deepEqual(
        replayed.map((each) => each.event.id),
        events.map(({ id }) => id).toReversed(),
      );
      assert.equal(await store.deliveries.replayMatching({ state: 'dead' }, { newId, nowMs: 900 }), 0);
    });
  });
}
