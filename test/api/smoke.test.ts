import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { TestWorld } from '../support/test-world.ts';

test('a created edge is read back under its uri', async () => {
  const world = await TestWorld.open({ after });
  const created = await world.api('POST', '/edges/https', { hostports: ['app.localhost:7443'] });
  assert.equal(created.status, 201);
  const read = await world.api('GET', created.body.uri);
  assert.deepEqual(read.body, created.body);
});
