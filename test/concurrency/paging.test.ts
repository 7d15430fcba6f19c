import assert from 'node:assert/strict';
import { before, suite, test } from 'node:test';
import { createKsuidSource } from '../../src/kit/text/ksuid.ts';
import type { Delivery, DeliveryState, Lease, RecordPut } from '../../src/store/store.ts';
import { isLong } from '../support/share-of-cases.ts';
import type { TestWorld } from '../support/test-world.ts';
import { cleanupAfterSuite, ENGINES, openWorld, usePostgres } from './worlds.ts';

const MANY = isLong ? 10_000 : 2_000;
const BATCH = 1_000;
/** One in this many listed items is deleted, and as many new ones are created, while the list is walked. */
const DOOMED_EVERY = 10;

usePostgres();

const ksuid = createKsuidSource();
const newId = (prefix: string): string => `${prefix}_${ksuid(Date.now())}`;

for (const engine of ENGINES) {
  suite(`paging while others write, on ${engine}`, () => {
    const cleanup = cleanupAfterSuite();
    let world: TestWorld;

    before(async () => {
      // Tunnels come from the store, where this test writes them: a process with links lists those of linked nodes.
      world = await openWorld(cleanup, engine, { env: { POSTERN_PEER_LISTEN: 'off' } });
    });

    const tunnels = {
      path: '/tunnels',
      listKey: 'tunnels',
      newIds: (count: number) => Array.from({ length: count }, () => newId('tn')),
      make: (ids: readonly string[]) => world.store.presence.put(ids.map(tunnelLease)),
      remove: (ids: readonly string[]) =>
        world.store.presence.remove(ids.map((id) => ({ kind: 'tunnel' as const, id }))),
    };
    const backends = {
      path: '/backends/static',
      listKey: 'backends',
      newIds: (count: number) => Array.from({ length: count }, () => newId('bkdsc')),
      make: async (ids: readonly string[]) => {
        assert.ok((await world.store.commit({ puts: ids.map(backendPut) })).ok);
      },
      remove: async (ids: readonly string[]) => {
        assert.ok((await world.store.commit({ deletes: ids.map((id) => ({ kind: 'static_backend', id })) })).ok);
      },
    };

    for (const { path, listKey, newIds, make, remove } of [tunnels, backends]) {
      test(`lists ${MANY} of ${path} completely, none twice, while others come and go`, async () => {
        const ids = newIds(MANY);
        for (let from = 0; from < MANY; from += BATCH) await make(ids.slice(from, from + BATCH));
        const doomed = ids.filter((_, at) => at % DOOMED_EVERY === 0);
        const unchanged = ids.filter((_, at) => at % DOOMED_EVERY !== 0);

        const changing = (async () => {
          // From both ends, so that records disappear ahead of the walk, behind it and at its position.
          for (let at = 0; at < doomed.length / 2; at += 20) {
            await remove([...doomed.slice(at, at + 20), ...doomed.slice(-at - 20, doomed.length - at)].filter(once()));
            await make(newIds(20));
          }
        })();
        const seen = await walk(world, `${path}?limit=100`, listKey);
        await changing;
        assertListsAll(seen, unchanged);
        assert.equal(new Set(seen).size, seen.length);

        const after = await walk(world, path, listKey);
        assertListsAll(after, unchanged);
        assert.ok(!after.some((id) => doomed.includes(id)));
        assert.deepEqual(after, [...after].sort().reverse());
      });

      test(`a walk of ${path} continues when its cursor's record is deleted`, async () => {
        const { body } = await world.api('GET', `${path}?limit=7`);
        const page = body[listKey].map(({ id }: { id: string }) => id) as string[];
        const expected = (await world.api('GET', body.next_page_uri)).body[listKey][0].id;
        await remove([page.at(-1) as string]);
        assert.equal((await world.api('GET', body.next_page_uri)).body[listKey][0].id, expected);
        const older = await world.api('GET', `${path}?limit=1&beforeId=${page.at(-1)}`);
        assert.equal(older.body[listKey][0].id, expected);
      });
    }

    test('limits of 1, 7 and 100 list the same', async () => {
      const made: string[] = [];
      for (let count = 0; count < 40; count += 1) {
        made.push((await world.api('POST', '/ip_policies', { description: `${count}` })).body.id as string);
      }
      for (const limit of [1, 7, 100]) {
        assert.deepEqual(await walk(world, `/ip_policies?limit=${limit}`, 'ip_policies'), made.toReversed());
      }
    });

    test('pages keep the filters of event deliveries', async () => {
      const states: readonly DeliveryState[] = ['pending', 'delivered', 'dead', 'cancelled'];
      const subscriptions = [newId('esb'), newId('esb')] as const;
      const destinations = [newId('ed'), newId('ed')] as const;
      const deliveries = Array.from({ length: 80 }, (_, at) =>
        delivery(
          states[at % 4] as DeliveryState,
          subscriptions[(at >> 2) % 2] as string,
          destinations[(at >> 3) % 2] as string,
        ),
      );
      await world.store.deliveries.put(deliveries);
      const matching = (wanted: Partial<Delivery>) =>
        deliveries
          .filter((each) => Object.entries(wanted).every(([name, value]) => each[name as keyof Delivery] === value))
          .map(({ id }) => id)
          .sort()
          .reverse();
      const cases: readonly (readonly [string, Partial<Delivery>])[] = [
        ['', {}],
        ['&state=dead', { state: 'dead' }],
        [`&subscription_id=${subscriptions[0]}`, { subscriptionId: subscriptions[0] }],
        [
          `&state=pending&subscription_id=${subscriptions[1]}&destination_id=${destinations[0]}`,
          { state: 'pending', subscriptionId: subscriptions[1], destinationId: destinations[0] },
        ],
      ];
      for (const [query, wanted] of cases) {
        for (const limit of [1, 7]) {
          assert.deepEqual(
            await walk(world, `/event_deliveries?limit=${limit}${query}`, 'event_deliveries'),
            matching(wanted),
            query,
          );
        }
      }
    });
  });
}

/** Follows next_page_uri verbatim, to the end. */
async function walk(world: TestWorld, path: string, listKey: string): Promise<string[]> {
  const ids: string[] = [];
  for (let next: string | null = path; next !== null; ) {
    const { status, body }: Awaited<ReturnType<TestWorld['api']>> = await world.api('GET', next);
    assert.equal(status, 200);
    ids.push(...body[listKey].map(({ id }: { id: string }) => id));
    next = body.next_page_uri;
  }
  return ids;
}

function assertListsAll(seen: readonly string[], unchanged: readonly string[]): void {
  const found = new Set(seen);
  const missed = unchanged.filter((id) => !found.has(id));
  assert.equal(missed.length, 0, `${missed.length} missed, such as ${missed[0]}`);
}

function once(): (id: string) => boolean {
  const seen = new Set<string>();
  return (id) => !seen.has(id) && seen.add(id) !== undefined;
}

function tunnelLease(id: string): Lease {
  return {
    kind: 'tunnel',
    id,
    parent: newId('ts'),
    credentialId: null,
    bootId: 'boot',
    expiresAtMs: Date.now() + 3_600_000,
    doc: { metadata: '', region: 'local', started_at: '2026-11-01T00:00:00.000Z', forwards_to: 'localhost:80' },
  };
}

function backendPut(id: string): RecordPut {
  return {
    kind: 'static_backend',
    id,
    parent: null,
    doc: {
      description: '',
      metadata: '',
      address: '10.0.0.5:3000',
      tls: { enabled: false },
      created_at: '2026-11-01T00:00:00.000Z',
    },
    secrets: null,
    uniqueKeys: [],
    references: [],
  };
}

function delivery(state: DeliveryState, subscriptionId: string, destinationId: string): Delivery {
  const id = newId('evd');
  const event = { id: newId('ev'), type: 'ip_policy_created.v0', createdAtMs: 1, payload: {} };
  return { id, subscriptionId, destinationId, event, state, attempts: [], createdAtMs: 1, nextAttemptAtMs: null };
}
