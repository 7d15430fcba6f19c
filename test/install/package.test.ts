// Own process: takes long, so it starts first.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, readFile, stat } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { builtPackage } from '../support/built-package.ts';
import { openLocalRegistry } from '../support/local-registry.ts';
import { findOldNode } from '../support/old-node.ts';
import { startPostern } from '../support/server-process.ts';
import { tempDir } from '../support/temp-dir.ts';
import { runInstalled, walk } from './fresh-walk.ts';
import { nonRootUser } from './non-root.ts';

/** A process that does not end must fail the test, not hang it. */
const TIMEOUT_MS = 240_000;
const run = promisify(execFile);

suite('npm install -g of the package', { timeout: TIMEOUT_MS }, () => {
  test('gives a user without privileges a program that serves a first edge and a remote tunnel', async (t) => {
    const prefix = await installed(t);
    const program = join(prefix, 'bin', 'postern');
    const user = await nonRootUser(t);
    // The link that npm made runs "node" from the PATH.
    const withNode = {
      ...user,
      env: { ...user.env, PATH: `${dirname(process.execPath)}${delimiter}${user.env['PATH']}` },
    };
    const server = await walk(t, { command: [program], user: withNode }, join(user.home, 'data'));
    server.child.kill('SIGTERM');
    assert.deepEqual(await server.exited, { code: 0, signal: null });
    assert.match(await runInstalled({ command: [program], user: withNode }, ['--version']), /^\d+\.\d+\.\d+\n$/);
    await says(t, prefix, program);
  });
});

/** With an older Node it says what to do for a package, where "npm ci" means nothing. */
async function says(t: TestContext, prefix: string, program: string): Promise<void> {
  const old = findOldNode();
  if (old === null) return t.diagnostic('skipped: no Node older than 24 on this machine');
  const refused = startPostern(t, { command: [old, program], args: ['--version'], cwd: prefix });
  assert.equal((await refused.exited).code, 1);
  assert.match(
    refused.stderr(),
    /^postern: needs Node 24 or newer, this is \d+\.\d+\.\d+: .*npm install -g postern.*\n$/,
  );
  assert.doesNotMatch(refused.stderr(), /npm ci|checkout/);
}

async function installed(t: TestContext): Promise<string> {
  const { tarball } = await builtPackage();
  const registry = await openLocalRegistry(t);
  const prefix = await tempDir(t);
  await chmod(prefix, 0o755);
  const flags = [
    '--prefix',
    prefix,
    '--cache',
    join(prefix, 'cache'),
    '--registry',
    registry,
    '--no-audit',
    '--no-fund',
  ];
  await run('npm', ['install', '--global', ...flags, tarball], { cwd: prefix, env: withoutNpm() });
  const home = join(prefix, 'lib', 'node_modules', 'postern');
  assert.equal((await stat(join(home, 'LICENSE'))).isFile(), true);
  assert.equal((JSON.parse(await readFile(join(home, 'package.json'), 'utf8')) as { name: string }).name, 'postern');
  return prefix;
}

/** Settings of the npm that runs the tests would reach the one that they run. */
function withoutNpm(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('npm_')));
}
