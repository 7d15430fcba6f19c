import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { chmod, mkdir, readdir, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { tempDir } from '../../support/temp-dir.ts';

const LAUNCHER = fileURLToPath(new URL('../../../bin/postern.mjs', import.meta.url));

/** Runs `postern --version` with this home, and without the test runner's cache. */
function runIn(home: string, env: Record<string, string> = {}): string {
  const own = { PATH: process.env['PATH'] ?? '', HOME: home, ...env };
  return execFileSync(process.execPath, [LAUNCHER, '--version'], { env: own, encoding: 'utf8' });
}

async function cached(home: string): Promise<readonly string[]> {
  return readdir(join(home, '.cache', 'postern', 'compiled')).catch(() => []);
}

test('keeps compiled code in the user’s own cache directory, for the user alone', async (t) => {
  const home = await tempDir(t);
  runIn(home);
  assert.equal((await cached(home)).length, 1);
  assert.equal((await stat(join(home, '.cache', 'postern', 'compiled'))).mode & 0o777, 0o700);
});

test('follows XDG_CACHE_HOME', async (t) => {
  const home = await tempDir(t);
  runIn(home, { XDG_CACHE_HOME: join(home, 'xdg') });
  assert.deepEqual(await readdir(join(home, 'xdg', 'postern', 'compiled')).then((found) => found.length), 1);
});

test('commands that run for long and others use the same compiled code', async (t) => {
  const env = { PATH: process.env['PATH'] ?? '', HOME: await tempDir(t), NODE_DEBUG_NATIVE: 'COMPILE_CACHE' };
  // These commands load the same files. Node reports code that was compiled for other flags of V8.
  const [, second = '', third = ''] = ['http', 'config', 'http'].map(
    (command) => spawnSync(process.execPath, [LAUNCHER, command, '--help'], { env, encoding: 'utf8' }).stderr,
  );
  for (const printed of [second, third]) {
    assert.match(printed, /was accepted/);
    assert.doesNotMatch(printed, /was rejected/);
  }
});

const unusable: readonly [string, (t: TestContext, home: string) => Promise<void>][] = [
  [
    'others can write to the directory',
    async (_t, home) => {
      await mkdir(join(home, '.cache', 'postern', 'compiled'), { recursive: true });
      await chmod(join(home, '.cache', 'postern', 'compiled'), 0o777);
    },
  ],
  [
    'the directory is a link to another place',
    async (t, home) => {
      await mkdir(join(home, '.cache', 'postern'), { recursive: true });
      await symlink(await tempDir(t), join(home, '.cache', 'postern', 'compiled'));
    },
  ],
];
for (const [name, prepare] of unusable) {
  test(`uses no cache when ${name}`, async (t) => {
    const home = await tempDir(t);
    await prepare(t, home);
    assert.match(runIn(home), /^\d+\.\d+\.\d+\n$/);
    assert.deepEqual(await cached(home), []);
  });
}

test('starts without a home directory that can be written to', () => {
  assert.match(runIn('/proc/nowhere'), /^\d+\.\d+\.\d+\n$/);
});
