import assert from 'node:assert/strict';
import { closeSync, mkdtempSync, openSync, renameSync, rmSync, statSync, symlinkSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
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

test('an unreachable data directory: writes name the error, and the list of problems has it', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'postern-test-'));
  const world = await TestWorld.open(t, { dataDir });
  const kept = await world.api('POST', '/ip_policies', { description: 'kept' });
  const away = `${dataDir}-away`;
  t.after(() => {
    for (const each of [dataDir, away]) rmSync(each, { recursive: true, force: true });
  });
  renameSync(dataDir, away);
  symlinkSync(dataDir, dataDir);
  const refused = await world.api('POST', '/ip_policies', { description: 'refused' });
  assert.deepEqual([refused.status, refused.body.error_code], [503, 'ERR_POSTERN_STORE_UNAVAILABLE'], refused.text);
  const [problem] = (await world.api('GET', '/problems')).body.problems;
  assert.equal(problem.check, 'store');
  assert.match(problem.message, /the server stores no changes: .*cannot be read \(ELOOP/);
  const health = await world.api('GET', '/healthz');
  assert.deepEqual(health.body, { status: 'degraded', error_code: 'ERR_POSTERN_STORE_UNAVAILABLE' });
  assert.equal((await world.api('GET', kept.body.uri)).status, 200, 'what is in memory is served on');
  rmSync(dataDir);
  renameSync(away, dataDir);
  for (let waitedMs = 0; (await world.api('POST', '/ip_policies', {})).status !== 201; waitedMs += 100) {
    assert.ok(waitedMs < 10_000, 'writes do not work again');
    await sleep(100);
  }
});

test('a damaged database: the problem does not say that no change is stored while pages that are whole take some', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'postern-test-'));
  const world = await TestWorld.open(t, { dataDir });
  t.after(() => rmSync(dataDir, { recursive: true, force: true }));
  const body = 'x'.repeat(20_000);
  for (let made = 0; made < 40; made += 1) await world.api('POST', '/backends/http_response', { body });
  const path = join(dataDir, 'postern.sqlite');
  const checkpointed = new DatabaseSync(path);
  checkpointed.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  checkpointed.close();
  const file = openSync(path, 'r+');
  t.after(() => closeSync(file));
  writeSync(file, Buffer.alloc(8192, 0xab), 0, 8192, Math.trunc(statSync(path).size / 8192) * 4096);
  for (let waitedMs = 0; (await world.api('GET', '/healthz')).status !== 503; waitedMs += 100) {
    assert.ok(waitedMs < 30_000, '/healthz does not say so');
    await sleep(100);
  }
  const [problem] = (await world.api('GET', '/problems')).body.problems;
  assert.match(problem.message, /may not start again with its store.*is damaged/);
  const { status } = await world.api('POST', '/ip_policies', {});
  assert.ok(status === 201 || status === 503, String(status));
});
