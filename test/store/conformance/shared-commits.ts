import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import type { OutboxEvent, Store, WriteSet } from '../../../src/store/store.ts';
import { destinationPut, event, ledger, subscriptionPut } from './lane-world.ts';
import { committed, everything, type OpenStore, put } from './store-under-test.ts';

const RUNS = process.env['POSTERN_TEST_LONG'] ? 100 : 2;
const TYPES = ['a.v0', 'b.v0'];
const DESTINATIONS = ['ed_0', 'ed_1'];

const some = (all: readonly string[]) => fc.subarray([...all]);
const subscription = fc.nat(2).map((n) => `esb_${n}`);
const change = fc.oneof(
  fc.record({ do: fc.constant('subscribe' as const), id: subscription, types: some(TYPES), to: some(DESTINATIONS) }),
  fc.record({ do: fc.constant('unsubscribe' as const), id: subscription }),
  fc.record({ do: fc.constant('pause' as const), id: fc.constantFrom(...DESTINATIONS) }),
  fc.record({ do: fc.constant('put' as const), id: fc.nat(5).map((n) => `e${n}`), isNew: fc.boolean() }),
  fc.record({ do: fc.constant('delete' as const), id: fc.nat(5).map((n) => `e${n}`) }),
  fc.record({ do: fc.constant('fail' as const) }),
);
const step = fc.record({ change, types: fc.array(fc.constantFrom(...TYPES), { maxLength: 2 }) });
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

interface Accepted {
  readonly revision: number;
  readonly writeSet: WriteSet;
}

/**
 * Random concurrent writes: whichever of them shared a commit, the outcome equals that of running them one after the
 * other.
 */
export function sharedCommits(openStore: OpenStore): void {
  suite('shared commits', () => {
    test(`${RUNS} groups of concurrent writes give every lane what it wants, in the order of the revisions`, async (t) => {
      let run = 0;
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 30, maxLength: 80 }), async (steps) => {
          const { store } = await openStore(t);
          run += 1;
          // A failing write makes the whole group run one by one, so most runs contain none.
          const mayFail = run % 4 === 0;
          const crowded = mayFail ? steps : steps.filter((each) => each.change.do !== 'fail');
          await crowd(store, crowded);
          await store.close();
        }),
        { numRuns: RUNS, endOnFailure: true },
      );
    });
  });
}

async function crowd(store: Store, steps: readonly Step[]): Promise<void> {
  const known = event('known.v0');
  await committed(store, { puts: DESTINATIONS.map((id) => destinationPut(id)), events: [known] });
  const accepted: Accepted[] = [];
  const heard: number[] = [];
  store.onCommitted((changes) => heard.push(...changes.map((each) => revisionOf(each))));
  const commitsBefore = store.stats().commits;
  await Promise.all(
    steps.map(async (each) => {
      const writeSet = toWriteSet(each, known);
      try {
        const result = await store.commit(writeSet);
        assert.notEqual(each.change.do, 'fail');
        if (result.ok) accepted.push({ revision: result.revision, writeSet });
      } catch (error) {
        if (each.change.do !== 'fail') throw error;
      }
    }),
  );
  if (steps.every((each) => each.change.do !== 'fail')) assert.ok(store.stats().commits <= commitsBefore + 1);
  assert.deepEqual(
    accepted.map(({ revision }) => revision),
    accepted.map((_, at) => at + 2),
  );
  assert.deepEqual(
    heard,
    heard.toSorted((one, other) => one - other),
  );
  const deliveries = await store.deliveries.list({}, { beforeId: null, limit: 10_000 });
  assert.deepEqual(
    deliveries.map((each) => `${each.event.id} ${each.subscriptionId} ${each.destinationId}`).toReversed(),
    deliveriesOf(accepted.map(({ writeSet }) => writeSet)),
  );
  await ledger(store);
  const { records, events } = await everything(store);
  assert.equal(events, 1 + accepted.reduce((sum, { writeSet }) => sum + (writeSet.events?.length ?? 0), 0));
  const feed = await store.changesSince(0);
  assert.ok(feed.isComplete);
  const fed = feed.changes.flatMap((each) => (each.op === 'put' ? [each.record] : []));
  const names = (list: typeof fed) => list.map(({ kind, id, revision }) => `${kind} ${id} ${revision}`).sort();
  assert.deepEqual(names(fed), names(records));
}

function toWriteSet({ change: given, types }: Step, known: OutboxEvent): WriteSet {
  const events = types.map((type) => event(type));
  switch (given.do) {
    case 'subscribe':
      return { puts: [subscriptionPut(given.id, given.types, given.to)], events };
    case 'unsubscribe':
      return { deletes: [{ kind: 'event_subscription', id: given.id }], events };
    case 'pause':
      return { puts: [destinationPut(given.id, 'paused')], events };
    case 'put':
      return {
        expect: given.isNew ? [{ kind: 'edge', id: given.id, revision: 'absent' }] : [],
        puts: [put('edge', given.id)],
        events,
      };
    case 'delete':
      return { deletes: [{ kind: 'edge', id: given.id }], events };
    case 'fail':
      // A duplicate event is detected by the primary key, after everything is written.
      return { puts: [put('edge', 'never')], events: [...events, known] };
  }
}

/** By the rules, one write after the other. */
function deliveriesOf(writeSets: readonly WriteSet[]): string[] {
  const wanted = new Map<string, { readonly types: readonly string[]; readonly to: readonly string[] }>();
  const found: string[] = [];
  for (const { puts = [], deletes = [], events = [] } of writeSets) {
    for (const { id } of deletes) wanted.delete(id);
    const subscriptions = [...wanted].toSorted(([one], [other]) => (one < other ? -1 : 1));
    for (const { id: eventId, type } of events) {
      for (const [id, { types, to }] of subscriptions) {
        if (types.includes(type)) found.push(...to.map((destinationId) => `${eventId} ${id} ${destinationId}`));
      }
    }
    for (const { kind, id, doc, references } of puts) {
      if (kind !== 'event_subscription') continue;
      const types = (doc['sources'] as readonly { readonly type: string }[]).map((source) => source.type);
      wanted.set(id, { types, to: references.map((reference) => reference.to.id) });
    }
  }
  return found;
}

function revisionOf(change: Parameters<Parameters<Store['onCommitted']>[0]>[0][number]): number {
  return change.op === 'put' ? change.record.revision : change.revision;
}
