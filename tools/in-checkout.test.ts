import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Cleanup } from '../test/support/cleanup.ts';
import { findOldNode } from '../test/support/old-node.ts';
import { tempDir } from '../test/support/temp-dir.ts';

const script = fileURLToPath(new URL('in-checkout.mjs', import.meta.url));

/** The registry is the world outside: this npm installs what the lockfile names, slowly, and counts. */
const NPM = `
import fs from 'node:fs';
fs.appendFileSync('npm-runs', process.argv.slice(2).join(' ') + '\\n');
if (fs.existsSync('broken')) { console.error('no such registry'); process.exit(1); }
fs.rmSync('node_modules', { recursive: true, force: true });
fs.mkdirSync('node_modules/.bin', { recursive: true });
setTimeout(() => {
  fs.symlinkSync(${JSON.stringify(process.execPath)}, 'node_modules/.bin/node');
  fs.copyFileSync('package-lock.json', 'node_modules/.package-lock.json');
}, 400);
`;

class Checkout {
  readonly root: string;
  readonly #cleanup: Cleanup;

  constructor(root: string, cleanup: Cleanup) {
    this.root = root;
    this.#cleanup = cleanup;
    mkdirSync(join(root, 'tools'));
    copyFileSync(script, join(root, 'tools', 'in-checkout.mjs'));
    writeFileSync(join(root, 'npm.mjs'), NPM);
    writeFileSync(join(root, 'hello.mjs'), 'console.log("hello", ...process.argv.slice(2));');
    writeFileSync(join(root, 'stay.mjs'), 'console.log("ready"); setInterval(() => {}, 1000);');
    this.lock('1.0.0');
  }

  lock(version: string): void {
    const packages = {
      '': {},
      'node_modules/a': { version },
      'node_modules/of-another-platform': { version: '1.0.0', optional: true },
    };
    writeFileSync(join(this.root, 'package-lock.json'), JSON.stringify({ packages }));
  }

  npmRuns(): number {
    const log = join(this.root, 'npm-runs');
    return existsSync(log) ? readFileSync(log, 'utf8').trimEnd().split('\n').length : 0;
  }

  start(
    args: readonly string[],
    node = process.execPath,
  ): { child: ChildProcess; ended: Promise<string>; said(): string } {
    const env = { ...process.env, npm_execpath: join(this.root, 'npm.mjs'), npm_lifecycle_event: 'start' };
    const child = spawn(node, [join(this.root, 'tools/in-checkout.mjs'), ...args], { cwd: this.root, env });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (said += text));
    this.#cleanup.after(async () => {
      child.kill('SIGKILL');
      await ended;
    });
    const ended = once(child, 'close').then(([code]) => `${code}: ${said}`);
    return { child, ended, said: () => said };
  }
}

suite('npm start and npm test in a checkout', () => {
  test('install what is missing once, and nothing the second time', async (t) => {
    const checkout = new Checkout(await tempDir(t), t);
    assert.match(
      await checkout.start(['hello.mjs', 'a b']).ended,
      /^0: .*installing[\s\S]*installed in \d+ s\nhello a b\n$/,
    );
    assert.equal(await checkout.start(['hello.mjs']).ended, '0: hello\n');
    assert.equal(await checkout.start([]).ended, '0: ');
    assert.equal(checkout.npmRuns(), 1);
    checkout.lock('1.0.1');
    assert.match(await checkout.start(['hello.mjs']).ended, /^0: [\s\S]*hello\n$/);
    assert.equal(checkout.npmRuns(), 2);
  });

  test('install again after an install that did not finish', async (t) => {
    const checkout = new Checkout(await tempDir(t), t);
    await checkout.start([]).ended;
    rmSync(join(checkout.root, 'node_modules/.package-lock.json'));
    assert.match(await checkout.start([]).ended, /^0: .*installing/);
  });

  test('set up once when both are started at the same time', async (t) => {
    const checkout = new Checkout(await tempDir(t), t);
    const outcomes = await Promise.all([1, 2, 3, 4].map(() => checkout.start(['hello.mjs']).ended));
    for (const outcome of outcomes) assert.match(outcome, /^0: [\s\S]*hello\n$/);
    assert.equal(checkout.npmRuns(), 1);
  });

  test('go on after a set-up that was killed', async (t) => {
    const checkout = new Checkout(await tempDir(t), t);
    mkdirSync(join(checkout.root, '.cache/checkout'), { recursive: true });
    const ended = spawn(process.execPath, ['-e', '']);
    await once(ended, 'close');
    writeFileSync(join(checkout.root, '.cache/checkout/set-up'), String(ended.pid));
    const outcomes = await Promise.all([1, 2].map(() => checkout.start(['hello.mjs']).ended));
    for (const outcome of outcomes) assert.match(outcome, /^0: [\s\S]*hello\n$/);
    assert.equal(checkout.npmRuns(), 1);
  });

  test('keep the packages on which another command runs', async (t) => {
    const checkout = new Checkout(await tempDir(t), t);
    const server = checkout.start(['stay.mjs']);
    while (!server.said().includes('ready'))
      await once(server.child.stdout as NonNullable<ChildProcess['stdout']>, 'data');
    checkout.lock('1.0.1');
    const refused = await checkout.start(['hello.mjs']).ended;
    assert.match(
      refused,
      /^1: postern: package-lock.json changed, and "npm run start" \(process \d+\) still runs .*: stop it, then try again\n$/,
    );
    assert.equal(checkout.npmRuns(), 1);
    server.child.kill();
    await server.ended;
    assert.match(await checkout.start(['hello.mjs']).ended, /hello\n$/);
  });

  test('show what npm said when it failed', async (t) => {
    const checkout = new Checkout(await tempDir(t), t);
    writeFileSync(join(checkout.root, 'broken'), '');
    assert.match(
      await checkout.start(['hello.mjs']).ended,
      /^1: .*\npostern: npm ci failed \(1\):\nno such registry\n$/,
    );
  });

  const old = findOldNode();
  test('run on the locked Node when the machine has an older one', {
    skip: old === null && 'no Node older than 24',
  }, async (t) => {
    const checkout = new Checkout(await tempDir(t), t);
    writeFileSync(join(checkout.root, 'version.mjs'), 'console.log(process.version); process.exit(3);');
    const outcome = await checkout.start(['version.mjs'], old ?? '').ended;
    assert(outcome.startsWith('3: ') && outcome.endsWith(`${process.version}\n`), outcome);
  });
});
