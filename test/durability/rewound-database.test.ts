import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openPostgresStore } from '../../src/store/postgres/open-postgres-store.ts';
import { made, startedServer, usePostgres } from '../concurrency/worlds.ts';
import { put } from '../store/conformance/store-under-test.ts';
import { feedLogin } from '../support/feed-logins.ts';
import { type RewoundDatabase, rewoundDatabase } from '../support/rewound-database.ts';
import { TestWorld } from '../support/test-world.ts';

usePostgres();

const SECRET_KEY = randomBytes(32).toString('base64');
const DEADLINE_MS = 20_000;

type Test = Parameters<typeof TestWorld.open>[0];

suite('a database that went back to an earlier state', () => {
  for (const { title, overtakingCommits } of [
    { title: 'and is behind the nodes', overtakingCommits: 0 },
    { title: 'and has overtaken the nodes with other commits', overtakingCommits: 40 },
  ]) {
    test(`${title}: nodes drop what was lost, and no lost or rejected write is answered 2xx`, async (t) => {
      const database = await rewoundDatabase(t, startedServer());
      const kept = await keptBackend(t, database);
      const copy = await database.snapshot();
      const [a, b] = await Promise.all([openWorld(t, database), openWorld(t, database)]);
      const lost = await backend(a);
      const key = (await a.api('POST', '/api_keys', { description: 'lost' })).body;
      await feedLogin(a.store, 'as_lost');
      await b.server.replica.refresh();
      assert.equal(await statusOf(b, lost.id), 200);
      if (overtakingCommits > 0) await overtake(copy, overtakingCommits, a);

      await database.rewind();
      const answers = await writeUntilCreated(a);
      for (const { status, id } of answers) {
        if (status === 201) assert.equal(await statusOf(a, id), 200, 'created, and then not there');
      }
      for (const world of [a, b]) {
        await until(async () => (await statusOf(world, lost.id)) === 404, 'the lost backend is still served');
        assert.equal(await statusOf(world, kept.id), 200);
        await until(async () => (await statusWith(world, key.token)) === 401, 'the lost key is still accepted');
        assert.equal(world.store.stats().resets, 1);
        await until(
          async () => world.server.replica.revision === (await world.store.currentRevision()),
          'the node is behind the database',
        );
        assert.ok(
          world.logLines.some((line) => line.includes('lost commits')),
          'nothing was logged',
        );
        const { problems } = (await world.api('GET', '/problems')).body;
        const found = problems.find(({ message }: { readonly message: string }) => /lost commits/.test(message));
        assert.match(found?.message ?? '', /the database went back at /);
        assert.match(found.advice, /restart the server/);
        const metrics = await world.api('GET', '/metrics');
        assert.match(metrics.text, /^postern_store_resets_total 1$/m);
      }
      assert.equal(await a.store.logins.getSession('as_lost'), null);
      // Both write again, and each sees the other's writes.
      const after = await backend(b);
      await until(async () => (await statusOf(a, after.id)) === 200, 'nodes no longer follow each other');
    });
  }

  test('rejects writes that wait during the reload, and reads of followers too', async (t) => {
    const database = await rewoundDatabase(t, startedServer());
    await keptBackend(t, database);
    await database.snapshot();
    const world = await openWorld(t, database);
    await backend(world);
    const gate = Promise.withResolvers<void>();
    const reset = new Promise<void>((resolve) => {
      world.store.onReset(() => {
        resolve();
        return gate.promise;
      });
    });
    await database.rewind();
    const refused = world.store.commit({ puts: [put('edge', 'e1')] });
    await assert.rejects(refused, { code: /ERR_POSTERN_STORE_(WENT_BACK|UNAVAILABLE)/ });
    await until(async () => world.store.stats().resets === 1, 'it was not noticed');
    await reset;
    const waiting = world.store.commit({ puts: [put('edge', 'e2')] });
    await assert.rejects(waiting, { code: 'ERR_POSTERN_STORE_WENT_BACK', message: /Nothing was applied/ });
    await assert.rejects(world.store.changesSince(1), { code: 'ERR_POSTERN_STORE_WENT_BACK' });
    gate.resolve();
    await until(
      async () => (await world.api('POST', '/backends/static', { address: '10.0.0.1:1' })).status === 201,
      'writes stay refused',
    );
    assert.equal(world.store.stats().resets, 1);
  });
});

async function openWorld(t: Test, { url }: RewoundDatabase): Promise<TestWorld> {
  return TestWorld.open(t, { databaseUrl: url, env: { POSTERN_SECRET_KEY: SECRET_KEY } });
}

async function keptBackend(t: Test, database: RewoundDatabase) {
  const world = await openWorld(t, database);
  const kept = await backend(world);
  await world.close();
  return kept;
}

async function backend(world: TestWorld) {
  return made(await world.api('POST', '/backends/static', { address: '10.0.0.5:3000' }));
}

async function statusOf(world: TestWorld, id: string): Promise<number> {
  return (await world.api('GET', `/backends/static/${id}`)).status;
}

async function statusWith(world: TestWorld, key: string): Promise<number> {
  return (await world.api('GET', '/api_keys?limit=1', undefined, { key })).status;
}

/** As clients of the new primary would, before the nodes find it. */
async function overtake(url: string, commits: number, { dataDir }: TestWorld): Promise<void> {
  const store = await openPostgresStore({ url, dataDir, secretKey: SECRET_KEY });
  for (let at = 0; at < commits; at += 1) await store.commit({ puts: [put('ip_policy', `ipp_${at}`)] });
  await store.close();
}

async function writeUntilCreated(world: TestWorld): Promise<readonly { status: number; id: string }[]> {
  const answers: { status: number; id: string }[] = [];
  await until(async () => {
    const { status, body } = await world.api('POST', '/backends/static', { address: '10.0.0.6:3000' });
    answers.push({ status, id: body.id });
    assert.ok(status === 201 || status === 503, `${status} ${JSON.stringify(body)}`);
    return answers.filter((answer) => answer.status === 201).length >= 3;
  }, 'writes stay refused');
  assert.ok(
    answers.some(({ status }) => status === 503),
    'a write on lost state was not refused',
  );
  return answers;
}

async function until(isTrue: () => Promise<boolean>, otherwise: string): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS;
  while (!(await isTrue())) {
    assert.ok(Date.now() < deadline, otherwise);
    await sleep(50);
  }
}
