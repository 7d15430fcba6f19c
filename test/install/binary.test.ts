// Long form: builds the executable. Short form: test/e2e/process/package.test.ts
// Own process: takes long, so it starts first.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, suite, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { builtBinary } from '../support/built-binary.ts';
import { startPostern, startServerProcess } from '../support/server-process.ts';
import { tempDir } from '../support/temp-dir.ts';
import { followBlock } from './follow-page.ts';
import { type Installed, runInstalled, walk } from './fresh-walk.ts';
import { nonRootUser } from './non-root.ts';
import { execStart } from './systemd.ts';

/** A process that does not end must fail the test, not hang it. */
const TIMEOUT_MS = 280_000;
const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));

const PAGE = 'docs/how-to/install.md';
/** CI runs "npm ci", the executable is built already, and /usr/local belongs to the machine. */
const INSTEAD = `
npm() { case "$*" in ci) ;; *) mkdir -p dist bin; cp "$BUILT" dist/postern-linux-x64 ;; esac; }
sudo() { local words=("\${@//\\/usr\\/local\\/bin/$HOME/bin}"); "\${words[@]}"; }
`;

/** Files that a program may open on a machine where nothing of it is installed. */
const OF_THE_SYSTEM = /^\/(proc|sys|dev|etc|lib|lib64|usr\/(lib|share))\//;

suite('the single executable', { timeout: TIMEOUT_MS }, () => {
  let binary = '';
  before(async () => {
    binary = await builtBinary();
  });

  /** A copy under the name that a user gives it, alone in a home of its own. */
  async function copied(t: TestContext): Promise<Installed> {
    const user = await nonRootUser(t);
    const program = join(user.home, 'postern');
    await cp(binary, program);
    return { command: [program], user };
  }

  test('serves a first edge and a remote tunnel for a user without privileges', async (t) => {
    const user = await nonRootUser(t);
    const env = { ...user.env, PATH: `${user.home}/bin:${user.env['PATH']}`, BUILT: binary };
    const follow = (block: number) => followBlock({ page: PAGE, block, cwd: user.home, env, instead: INSTEAD });
    for (const block of [1, 2, 5]) await follow(block);
    assert.match(await follow(2), /^\d+\.\d+\.\d+$/m);
    const program = join(user.home, 'bin', 'postern');
    const words = execStart(await runInstalled({ command: [program], user }, ['service', 'print']));
    assert.deepEqual(words, [program, 'server']);
    const server = await walk(t, { command: words.slice(0, -1), user }, join(user.home, 'data'));
    server.child.kill('SIGTERM');
    assert.deepEqual(await server.exited, { code: 0, signal: null });
  });

  test('serves visitors with two workers', async (t) => {
    const { command, user } = await copied(t);
    const env = { ...user.env, POSTERN_WORKERS: '2' };
    const server = await walk(t, { command, user: { ...user, env } }, join(user.home, 'data'));
    server.child.kill('SIGTERM');
    assert.deepEqual(await server.exited, { code: 0, signal: null });
  });

  test('prints the same texts as the checkout, and names no checkout', async (t) => {
    const installed = await copied(t);
    const questions = [
      ['--version'],
      ['--help'],
      ['server', '--help'],
      ['api', 'routes', 'create', '--help'],
      ['completion', 'bash'],
    ];
    for (const args of questions) {
      const printed = await runInstalled(installed, args);
      const { stdout } = await run(process.execPath, [join(root, 'bin', 'postern.mjs'), ...args], {
        env: process.env,
      });
      assert.equal(printed, stdout, args.join(' '));
      assert.doesNotMatch(printed, /node_modules|postern\.mjs|npm (ci|start|run)/, args.join(' '));
    }
  });

  test('opens no file of a checkout, and nothing outside the system, its data and itself', async (t) => {
    const { command, user } = await copied(t);
    const trace = join(user.home, 'trace');
    const args = ['-f', '-qq', '-e', 'trace=open,openat,execve', '-o', trace, ...command];
    const dataDir = join(user.home, 'data');
    const server = startServerProcess(t, dataDir, {
      command: ['strace', ...args],
      cwd: user.home,
      env: user.env,
      ...user.identity,
    });
    await server.ready();
    const pid = Number(await readFile(join(dataDir, 'postern.pid'), 'utf8'));
    process.kill(pid, 'SIGTERM');
    await server.exited;
    const opened = Array.from(
      (await readFile(trace, 'utf8')).matchAll(/"(\/[^"]+)"[^\n]*= \d+$/gm),
      ([, path = '']) => path,
    );
    assert(opened.length > 10, 'nothing was traced');
    const others = opened.filter((path) => !OF_THE_SYSTEM.test(path) && !path.startsWith(`${user.home}/`));
    assert.deepEqual([...new Set(others)], []);
  });

  test('shows a person at a terminal how to run this file again', async (t) => {
    const { command, user } = await copied(t);
    const flags = ['api', 'edge', 'edge-http', 'tunnel'].map((name) => `--${name}-listen 127.0.0.1:0`).join(' ');
    const typed = `timeout 60 ./postern server --data-dir data ${flags}`;
    const terminal = startPostern(t, {
      command: ['script', '-qefc', typed, '/dev/null'],
      cwd: user.home,
      env: user.env,
    });
    assert.deepEqual(command, [join(user.home, 'postern')]);
    while (!terminal.stdout().includes(' edge app.localhost')) {
      assert.equal(terminal.child.exitCode, null, terminal.stdout());
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    assert.match(terminal.stdout(), /^ {2}\.\/postern edge app\.localhost/m);
  });

  test('reports a failure of its database thread without its own source text', async (t) => {
    const { command, user } = await copied(t);
    const dataDir = await tempDir(t);
    await writeFile(join(dataDir, 'postern.sqlite'), 'this is no database'.repeat(1000));
    const server = startServerProcess(t, dataDir, { command, cwd: user.home, env: user.env });
    assert.equal((await server.exited).code, 1);
    assert.match(server.stderr(), /^postern: .*\n$/);
    assert(server.stderr().length < 1000, 'the message repeats the source');
  });
});
