import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { freshDatabase, startPostgres } from '../support/postgres.ts';
import { isLong } from '../support/share-of-cases.ts';
import { TestWorld } from '../support/test-world.ts';

test('servers that start together on an empty database agree on the first key', async (t) => {
  const server = await startPostgres();
  after(() => server.stop());
  const database = await freshDatabase(server);
  const secretKey = Buffer.alloc(32, 7).toString('base64');
  const env = { POSTERN_SECRET_KEY: secretKey, POSTERN_AUTHTOKEN: 'a-preset-authtoken-of-the-test-0123456789' };
  const open = (): Promise<TestWorld> => TestWorld.open(t, { databaseUrl: database.url, env });
  const worlds = await Promise.all((isLong ? [1, 2, 3] : [1, 2]).map(open));
  for (const world of worlds) {
    assert.equal((await world.api('GET', '/api_keys')).body.keys.length, 1);
    assert.equal((await world.api('GET', '/credentials')).body.credentials.length, 1);
  }
});
