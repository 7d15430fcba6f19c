import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { findOldNode } from '../../support/old-node.ts';
import { startPostern, startServerProcess } from '../../support/server-process.ts';
import { firstOf } from '../../support/share-of-cases.ts';
import { tempDir } from '../../support/temp-dir.ts';

/** A process that does not end must fail the test, not hang it. */
const TIMEOUT_MS = 240_000;

const oldNode = findOldNode();
const options = { timeout: TIMEOUT_MS, skip: oldNode === null && 'no Node older than 24 on this machine' };
const launcherPath = fileURLToPath(new URL('../../../bin/postern.mjs', import.meta.url));

suite('launcher on an old Node', options, () => {
  const node = oldNode ?? '';

  test('runs the program on the locked Node and forwards its output and exit code', async (t) => {
    const version = startPostern(t, { node, args: ['--version'] });
    assert.deepEqual(await version.exited, { code: 0, signal: null });
    assert.match(version.stdout(), /^\d+\.\d+\.\d+\n$/);
    const wrong = startPostern(t, { node, args: ['serve'] });
    assert.deepEqual(await wrong.exited, { code: 2, signal: null });
    assert.match(wrong.stderr(), /^postern: there is no command "serve": "postern server" starts the server/);
  });

  for (const signal of firstOf(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)) {
    test(`forwards ${signal}, so that the server drains and exits 0`, async (t) => {
      const server = startServerProcess(t, await tempDir(t), { node });
      await server.ready();
      server.child.kill(signal);
      assert.deepEqual(await server.exited, { code: 0, signal: null });
      assert(server.lines().some((line) => line['msg'] === 'drained'));
    });
  }

  test('takes the server with it when it is killed with SIGKILL', async (t) => {
    const dataDir = await tempDir(t);
    const launcher = startServerProcess(t, dataDir, { node });
    const { base_url } = await launcher.ready();
    const serverPid = Number(await readFile(join(dataDir, 'postern.pid'), 'utf8'));
    assert.notEqual(serverPid, launcher.child.pid);
    assert.equal((await fetch(`${base_url}/healthz`)).status, 200);
    launcher.child.kill('SIGKILL');
    // Both write to the same pipe, so it closes when the server is gone too. (Its process id may remain as a zombie.)
    const outcome = await Promise.race([launcher.exited, sleep(30_000, 'still open', { ref: false })]);
    if (outcome === 'still open') process.kill(serverPid, 'SIGKILL');
    assert.deepEqual(outcome, { code: null, signal: 'SIGKILL' });
    await assert.rejects(fetch(`${base_url}/healthz`));
  });

  test('names the required Node in one line when there is no locked one', async (t) => {
    const root = await tempDir(t);
    await mkdir(join(root, 'bin'));
    await cp(launcherPath, join(root, 'bin', 'postern.mjs'));
    const outcome = runCopy(node, join(root, 'bin', 'postern.mjs'));
    assert.equal(outcome.code, 1);
    assert.match(outcome.stderr, /^postern: needs Node 24 or newer, this is \d+\.\d+\.\d+: .*\n$/);
    assert.match(outcome.stderr, /npm install -g postern/, 'the remedy for an installed package');
    assert.doesNotMatch(outcome.stderr, /npm ci/);
  });

  test('names the checkout in which to run npm ci', async (t) => {
    const root = await tempDir(t);
    await mkdir(join(root, 'bin'));
    await mkdir(join(root, 'src', 'app', 'main'), { recursive: true });
    await cp(launcherPath, join(root, 'bin', 'postern.mjs'));
    await writeFile(join(root, 'src', 'app', 'main', 'cli.ts'), '');
    const outcome = runCopy(node, join(root, 'bin', 'postern.mjs'));
    assert.equal(outcome.code, 1);
    assert(outcome.stderr.includes(`run "npm ci" in ${root}`), outcome.stderr);
    assert.doesNotMatch(outcome.stderr, /install -g/);
  });
});

test('is replaced by the locked Node, without a second process, where Node can do that', async (t) => {
  const root = await tempDir(t);
  const [bin, tools] = [join(root, 'bin'), join(root, 'node_modules', '.bin')];
  for (const folder of [bin, tools]) await mkdir(folder, { recursive: true });
  // To this copy, the Node that runs it is too old, although it has `process.execve` (from Node 22.15 on).
  const text = (await readFile(launcherPath, 'utf8')).replace(
    /^const OLDEST_MAJOR = \d+;$/m,
    'const OLDEST_MAJOR = 999;',
  );
  await writeFile(join(bin, 'postern.mjs'), text);
  await writeFile(join(tools, 'node'), '#!/bin/sh\necho $$ "$@"\n', { mode: 0o755 });
  const launched = startPostern(t, { launcher: join(bin, 'postern.mjs'), args: ['server', '--data-dir', 'x y'] });
  assert.deepEqual(await launched.exited, { code: 0, signal: null });
  assert.equal(launched.stdout(), `${launched.child.pid} ${join(bin, 'postern.mjs')} server --data-dir x y\n`);
  assert.equal(launched.stderr(), '');
});

function runCopy(node: string, path: string): { code: number; stderr: string } {
  try {
    execFileSync(node, [path, '--version'], { stdio: 'pipe' });
    return { code: 0, stderr: '' };
  } catch (error) {
    const { status, stderr } = error as { status: number; stderr: Buffer };
    return { code: status, stderr: stderr.toString() };
  }
}
