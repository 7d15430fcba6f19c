import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const SCRIPT = fileURLToPath(new URL('../support/reset-in-one-event.ts', import.meta.url));

test('an agent or a node that resets its first stream while a request waits does not abort the process', async () => {
  const child = spawn(process.execPath, [SCRIPT], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const [code, signal] = await once(child, 'close');
  assert.deepEqual({ code, signal }, { code: 0, signal: null }, output);
});
