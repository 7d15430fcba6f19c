import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { committed, put } from '../../src/store/conformance/store-under-test.ts';
import { emptyLocation, openAt, usePostgres } from './engines.ts';

usePostgres();

const SCRIPT = fileURLToPath(new URL('./stalled-writer.ts', import.meta.url));

test('a node that is frozen in the middle of a write does not stop the others, and cannot commit when it thaws', async (t) => {
  const location = await emptyLocation(t, 'postgres');
  const store = await openAt(location);
  const url = location.engine === 'postgres' ? location.url : '';
  const frozen = spawn(process.execPath, [SCRIPT, url], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = new Promise((resolve) => frozen.once('exit', resolve));
  t.after(() => frozen.kill('SIGKILL'));
  const lines = createInterface({ input: frozen.stdout })[Symbol.asyncIterator]();
  assert.equal((await lines.next()).value, 'locked');
  // The lock's timeout is longer than a stalled transaction may last: this would be refused otherwise.
  await committed(store, { puts: [put('edge', 'e1')] });
  frozen.kill('SIGCONT');
  assert.equal((await lines.next()).value, 'error ERR_POSTERN_STORE_UNAVAILABLE');
  await exited;
});
