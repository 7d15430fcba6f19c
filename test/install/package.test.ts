// Long form: npm installs the package with all its dependencies. Short form: test/e2e/process/package.test.ts
// Own process: takes long, so it starts first.
import assert from 'node:assert/strict';
import { chmod, copyFile, readFile, stat } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { builtPackage } from '../support/built-package.ts';
import { openLocalRegistry } from '../support/local-registry.ts';
import { findOldNode } from '../support/old-node.ts';
import { startPostern } from '../support/server-process.ts';
import { tempDir } from '../support/temp-dir.ts';
import { followBlock } from './follow-page.ts';
import { runInstalled, walk } from './fresh-walk.ts';
import { nonRootUser } from './non-root.ts';
import { execStart } from './systemd.ts';

/** A process that does not end must fail the test, not hang it. */
const TIMEOUT_MS = 290_000;
const LAUNCHER = 'lib/node_modules/postern/bin/postern.mjs';
const PAGE = 'docs/how-to/install.md';

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
    const typed = { command: [program], user: withNode };
    assert.match(await runInstalled(typed, ['--version']), /^\d+\.\d+\.\d+\n$/);
    // What a unit starts works without that PATH.
    const words = execStart(await runInstalled(typed, ['service', 'print']));
    assert.deepEqual(words, [process.execPath, join(prefix, LAUNCHER), 'server']);
    const server = await walk(t, { command: words.slice(0, -1), user }, join(user.home, 'data'));
    server.child.kill('SIGTERM');
    assert.deepEqual(await server.exited, { code: 0, signal: null });
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
  const env = {
    ...withoutNpm(),
    PATH: `${prefix}/bin${delimiter}${process.env['PATH']}`,
    npm_config_prefix: prefix,
    npm_config_cache: join(prefix, 'cache'),
    npm_config_registry: registry,
  };
  await copyFile(tarball, join(prefix, 'postern-0.1.0.tgz'));
  // "npm ci" is what CI runs, and the package is packed already.
  const instead = 'npm() { case "$*" in ci | pack) ;; *) command npm "$@" ;; esac; }';
  await followBlock({ page: PAGE, block: 3, cwd: prefix, env, instead });
  assert.match(await followBlock({ page: PAGE, block: 4, cwd: prefix, env, instead }), /^\d+\.\d+\.\d+$/m);
  const home = join(prefix, 'lib', 'node_modules', 'postern');
  assert.equal((await stat(join(home, 'LICENSE'))).isFile(), true);
  assert.equal((JSON.parse(await readFile(join(home, 'package.json'), 'utf8')) as { name: string }).name, 'postern');
  return prefix;
}

/** Settings of the npm that runs the tests would reach the one that they run. */
function withoutNpm(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('npm_')));
}
