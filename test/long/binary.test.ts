import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { builtBinary } from '../support/built-binary.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

test('the tests of whole processes pass with the single executable too', async () => {
  const env = { ...process.env, POSTERN_TEST_BINARY: await builtBinary() };
  // The test runner marks the processes that it starts; the inner run must not look like one of them.
  Reflect.deleteProperty(env, 'NODE_TEST_CONTEXT');
  const { status, stdout } = spawnSync(process.execPath, ['tools/test.ts', 'test/e2e'], {
    cwd: root,
    env,
    encoding: 'utf8',
  });
  assert.equal(status, 0, stdout.split('\n').slice(-60).join('\n'));
  console.log(stdout.trimEnd().split('\n').at(-1));
});
