import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Replica } from '../../src/store/replica/replica.ts';
import { feedLogin } from '../support/feed-logins.ts';
import { committed, everything, put } from './conformance/store-under-test.ts';
import { ENGINES, emptyLocation, openAt, querySql, usePostgres } from './engines.ts';

usePostgres();

for (const engine of ENGINES) {
  test(`${engine}: a store that lost a commit under another id rejects the next write and reads everything again`, async (t) => {
    const location = await emptyLocation(t, engine);
    const store = await openAt(location);
    const replica = await Replica.open(store);
    t.after(() => replica.close());
    await committed(store, { puts: [put('edge', 'kept')] });
    await committed(store, { puts: [put('edge', 'lost')] });
    const reset = new Promise<Error>((resolve) => store.onReset(resolve));
    // The same numbers, taken by another write, as a promoted standby assigns them.
    await querySql(location, "UPDATE records SET id = 'other' WHERE id = 'lost'");
    await querySql(
      location,
      "UPDATE commits SET id = 'of another history' WHERE number = (SELECT max(number) FROM commits)",
    );
    const decided = store.commit({ puts: [put('edge', 'decided on lost state')] });
    await assert.rejects(decided, {
      code: 'ERR_POSTERN_STORE_WENT_BACK',
      message: /different commit with this number/,
    });
    await reset;
    await untilCommitted(() => store.commit({ puts: [put('edge', 'after')] }));
    assert.deepEqual([...replica.all('edge')].map(({ id }) => id).sort(), ['after', 'kept', 'other']);
    assert.equal(replica.revision, (await everything(store)).revision);
    assert.equal(store.stats().resets, 1);
  });

  test(`${engine}: detects a login that was read and then lost, although no revision was`, async (t) => {
    const location = await emptyLocation(t, engine);
    const store = await openAt(location);
    await feedLogin(store, 'as_1');
    const reset = new Promise<void>((resolve) => store.logins.onReset(() => resolve()));
    await querySql(location, 'DELETE FROM app_sessions');
    await querySql(location, 'DELETE FROM commits WHERE number = (SELECT max(number) FROM commits)');
    await assert.rejects(store.logins.changesSince(1), {
      code: 'ERR_POSTERN_STORE_WENT_BACK',
      message: /last commit of the database is/,
    });
    await reset;
  });
}

test('refusals alone write no commit', async (t) => {
  const location = await emptyLocation(t, 'sqlite');
  const store = await openAt(location);
  const result = await store.commit({ deletes: [{ kind: 'edge', id: 'absent' }] });
  assert.equal(result.ok, false);
  assert.equal((await querySql(location, 'SELECT * FROM commits')).length, 1);
});

async function untilCommitted(commit: () => Promise<unknown>): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    try {
      await commit();
      return;
    } catch (error) {
      assert.ok(tries < 100 && (error as { code?: string }).code === 'ERR_POSTERN_STORE_WENT_BACK', String(error));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}
