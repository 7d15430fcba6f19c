import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { TestWorld } from '../support/test-world.ts';

test('a removed data directory: no write is answered 2xx, /healthz is 503, the log says what to do', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'postern-test-'));
  const world = await TestWorld.open(t, { dataDir });
  assert.deepEqual((await world.api('GET', '/healthz')).body, { status: 'ready' });
  const kept = await world.api('POST', '/ip_policies', { description: 'kept' });
  assert.equal(kept.status, 201);
  rmSync(dataDir, { recursive: true });
  const refused = await world.api('POST', '/ip_policies', { description: 'refused' });
  assert.equal(refused.status, 503, refused.text);
  assert.equal(refused.body.error_code, 'ERR_POSTERN_STORE_GONE');
  assert.match(refused.body.msg, /postern\.sqlite was removed while the server was running/);
  for (let waitedMs = 0; (await world.api('GET', '/healthz')).status !== 503; waitedMs += 100) {
    assert.ok(waitedMs < 10_000, '/healthz does not say so');
    await sleep(100);
  }
  const health = await world.api('GET', '/healthz');
  assert.deepEqual(health.body, { status: 'failed', error_code: 'ERR_POSTERN_STORE_GONE' });
  assert.ok(world.logLines.some((line) => line.includes('the store has failed') && line.includes('restore a backup')));
  assert.match((await world.api('GET', '/metrics')).text, /^postern_store_up 0$/m);
  assert.equal((await world.api('GET', kept.body.uri)).status, 200, 'what is in memory is served on');
});
