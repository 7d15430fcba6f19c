import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { HeldFeed, inWorld, makeStaticBackend, openWorld, openWorldsOnOneDatabase, usePostgres } from './worlds.ts';

usePostgres();

describe('the replica, when an answer of the change feed comes late', () => {
  for (const engine of ['sqlite', 'postgres'] as const) {
    it(`does not bring back what was deleted since the feed was read, on ${engine}`, async (test) => {
      const world = await openWorld(test, engine);
      const feed = new HeldFeed(world);
      const kept = await makeStaticBackend(world);
      // As after a notification: the feed is read from where the replica stood before the next backend came.
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

  it('does not bring back what this process deleted ahead of the feed', async (test) => {
    const [a, b] = (await openWorldsOnOneDatabase(test, 2)) as [
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
