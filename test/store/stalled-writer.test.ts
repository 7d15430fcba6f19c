import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import type { PostgresLocation } from '../../src/store/offline-database.ts';
import { committed, put } from './conformance/store-under-test.ts';
import { emptyLocation, openAt, querySql, usePostgres } from './engines.ts';

usePostgres();

const SCRIPT = fileURLToPath(new URL('./stalled-writer.ts', import.meta.url));

test('a node frozen in the middle of a write does not stop the others, and cannot commit when it continues', async (t) => {
  const location = await emptyLocation(t, 'postgres');
  const store = await openAt(location);
  const url = location.engine === 'postgres' ? location.url : '';
  const frozen = spawn(process.execPath, [SCRIPT, url], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = new Promise((resolve) => frozen.once('exit', resolve));
  t.after(() => frozen.kill('SIGKILL'));
  const lines = createInterface({ input: frozen.stdout })[Symbol.asyncIterator]();
  assert.equal((await lines.next()).value, 'locked');
  // The lock timeout is longer than a stalled transaction may last: otherwise this would be rejected.
  await committed(store, { puts: [put('edge', 'e1')] });
  frozen.kill('SIGCONT');
  assert.equal((await lines.next()).value, 'error ERR_POSTERN_STORE_UNAVAILABLE');
  await exited;
});

test('repeats a write whose connection ends before its commit', async (t) => {
  const location = await emptyLocation(t, 'postgres');
  const store = await openAt(location);
  const blocker = new pg.Client({ connectionString: (location as PostgresLocation).url });
  await blocker.connect();
  // Before the test drops the database.
  blocker.on('error', () => {});
  await blocker.query("BEGIN; SELECT value FROM counter WHERE name = 'revision' FOR UPDATE");
  const writing = committed(store, { puts: [put('edge', 'e1')] });
  const endWaiting =
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
  for (let ended = 0; ended === 0; ) ended = (await querySql(location, endWaiting)).length;
  await blocker.query('COMMIT');
  assert.equal((await writing).revision, 1);
  await blocker.end();
});
