import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const SCRIPT = fileURLToPath(new URL('cancel-after-end.ts', import.meta.url));

test('cancelling a stream right after its end does not abort the process', () => {
  const { status, signal, stderr } = spawnSync(process.execPath, [SCRIPT], { timeout: 60_000 });
  assert.deepEqual({ status, signal }, { status: 0, signal: null }, stderr.toString());
});
