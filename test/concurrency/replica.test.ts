import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TestWorld } from '../support/test-world.ts';
import { HeldFeed, inWorld, makeStaticBackend, openWorld, openWorldsOnOneDatabase, usePostgres } from './worlds.ts';

usePostgres();

suite('the replica, when a response of the change feed is late', () => {
  for (const engine of ['sqlite', 'postgres'] as const) {
    test(`does not restore what was deleted since the feed was read, on ${engine}`, async (t) => {
      const world = await openWorld(t, engine);
      const feed = new HeldFeed(world);
      const kept = await makeStaticBackend(world);
      // As after a notification: the feed is read from the replica's position before the next backend was added.
      const from = world.server.replica.revision;
      feed.hold({ readFrom: from });
      const doomed = await makeStaticBackend(world);
      const late = world.server.replica.refresh();
      await feed.untilAnswered();
      assert.equal((await world.api('DELETE', doomed.uri)).status, 204);
      await world.api('PATCH', kept.uri, { description: 'newer than the answer' });
      feed.release();
      await late;
      assert.equal((await world.api('GET', doomed.uri)).status, 404);
      assert.equal((await world.api('GET', kept.uri)).body.description, 'newer than the answer');
    });
  }

  test('does not restore what this process deleted ahead of the feed', async (t) => {
    const [a, b] = (await openWorldsOnOneDatabase(t, 2)) as [
      Awaited<ReturnType<typeof openWorld>>,
      Awaited<ReturnType<typeof openWorld>>,
    ];
    const doomed = await makeStaticBackend(a);
    await a.server.replica.refresh();
    const feed = new HeldFeed(a);
    feed.hold();
    await b.server.replica.refresh();
    await b.api('PATCH', inWorld(b, doomed.uri), { description: 'by the other process' });
    await feed.untilAnswered();
    assert.equal((await a.api('DELETE', doomed.uri)).status, 204);
    feed.releaseFirst();
    assert.equal((await a.api('GET', doomed.uri)).status, 404);
    feed.release();
    await a.server.replica.refresh();
    assert.equal((await a.api('GET', doomed.uri)).status, 404);
  });
});

suite('a node whose read after a notification fails', () => {
  test('rejects a deleted API key with the next poll', async (t) => {
    const [a, b] = (await openWorldsOnOneDatabase(t, 2)) as [TestWorld, TestWorld];
    const key = (await a.api('POST', '/api_keys', { description: 'doomed' })).body;
    const statusOnB = async () => (await b.api('GET', '/api_keys?limit=1', undefined, { key: key.token })).status;
    await b.server.replica.refresh();
    assert.equal(await statusOnB(), 200);
    const failures = failNextReads(b, 2);
    assert.equal((await a.api('DELETE', key.uri)).status, 204);
    await until(() => failures.left === 0, 'the node did not read after the notification');
    await untilAsync(async () => (await statusOnB()) === 401, 'the deleted key is still accepted');
  });

  test('reads again for a notification that arrived during a failing read', async (t) => {
    const world = await openWorld(t, 'sqlite');
    const failures = failNextReads(world, 1);
    const [first, second] = await Promise.allSettled([world.server.replica.refresh(), world.server.replica.refresh()]);
    assert.deepEqual([first.status, second.status, failures.left], ['rejected', 'fulfilled', 0]);
  });
});

/** The database fails for this many reads of the feed. */
function failNextReads({ store }: TestWorld, count: number): { left: number } {
  const failures = { left: count };
  const changesSince = store.changesSince.bind(store);
  store.changesSince = async (from) => {
    if (failures.left === 0) return changesSince(from);
    failures.left -= 1;
    throw new Error('the database did not answer');
  };
  return failures;
}

async function until(isTrue: () => boolean, otherwise: string): Promise<void> {
  await untilAsync(async () => isTrue(), otherwise);
}

async function untilAsync(isTrue: () => Promise<boolean>, otherwise: string): Promise<void> {
  for (let waitedMs = 0; !(await isTrue()); waitedMs += 50) {
    assert.ok(waitedMs < 15_000, otherwise);
    await sleep(50);
  }
}
