import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const FOLDERS = [
  'cli/docker',
  'edge',
  'login',
  'access',
  'tunnel',
  'events',
  'nodes',
  'handover',
  'requests',
  'tracing',
  'explain',
  'security',
];

test('everything that visitors and agents see is the same with two workers', { timeout: 7_200_000 }, async () => {
  const folders = FOLDERS.map((folder) => `test/${folder}`);
  const env: NodeJS.ProcessEnv = { ...process.env, POSTERN_TEST_WORKERS: '2' };
  // The inner run must not look like a test file of this one, and its files have the time of a short run.
  for (const name of ['NODE_TEST_CONTEXT', 'POSTERN_TEST_LONG']) Reflect.deleteProperty(env, name);
  const runner = spawn(process.execPath, ['tools/test.ts', ...folders], {
    cwd: ROOT,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let summary = '';
  runner.stdout.setEncoding('utf8').on('data', (text: string) => {
    summary = (summary + text).slice(-20_000);
  });
  const [code] = await once(runner, 'exit');
  // A run that was ended has no line with counts.
  const from = summary.search(/^\d+ passed/m);
  assert.equal(code, 0, from === -1 ? summary : summary.slice(from));
});
