import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '../../test/support/temp-dir.ts';
import { bundleWorker } from './bundle.ts';

test('a worker of visitors starts from text, as in the single executable', async (t) => {
  const script = join(await tempDir(t), 'edge-worker.cjs');
  bundleWorker('src/app/main/workers/thread/edge-worker.ts', script);
  // Outside of a thread it only loads what it needs.
  const { status, stderr } = spawnSync(process.execPath, [script], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
});
