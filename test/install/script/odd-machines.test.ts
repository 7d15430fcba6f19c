import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { EXECUTABLE } from './fake-release.ts';
import { installerWorld } from './installer-world.ts';
import { MACHINES, missingFor, startInstaller } from './run-installer.ts';

/** Answers the first request for the executable only when the test says so. */
function stalledServer() {
  const reached = Promise.withResolvers<void>();
  let held: ServerResponse | null = null;
  const instead = (path: string, response: ServerResponse): boolean => {
    if (path !== `/${EXECUTABLE}` || held !== null) return false;
    held = response;
    reached.resolve();
    return true;
  };
  return { instead, reached: reached.promise, answer: (file: string) => held?.end(readFileSync(file)) };
}

for (const machine of MACHINES) {
  suite(`install.sh on ${machine.name}`, { skip: missingFor(machine) }, () => {
    test('removes what a killed run left, and keeps what another run needs', async (t) => {
      const { instead, reached, answer } = stalledServer();
      const killed = stalledServer();
      let isFirst = true;
      const world = await installerWorld(t, {
        machine,
        instead: (path, response) => (isFirst ? killed.instead : instead)(path, response),
      });
      const start = () => startInstaller({ machine, scratch: world.scratch, env: world.env });
      const first = start();
      await killed.reached;
      process.kill(-first.pid, 'SIGKILL');
      await first.ended;
      isFirst = false;
      assert.equal(world.files().length, 1);
      const slow = start();
      await reached;
      const [left] = world.files();
      assert.match(String(left), new RegExp(`^\\.postern-install\\.${slow.pid}\\.`));
      assert.equal(world.files().length, 1);
      assert.deepEqual([(await world.install()).code, world.files().length], [0, 2]);
      answer(world.release.executable);
      const { code, out, err } = await slow.ended;
      assert.deepEqual([code, err], [0, '']);
      assert.match(out, /is installed already/);
      assert.deepEqual(world.files(), ['postern']);
    });

    test('leaves nothing if nobody reads what it says', async (t) => {
      const { instead, reached, answer } = stalledServer();
      const world = await installerWorld(t, { machine, instead });
      const { ended, ignore } = startInstaller({ machine, scratch: world.scratch, env: world.env });
      await reached;
      ignore();
      answer(world.release.executable);
      assert.notEqual((await ended).code, 0);
      assert.deepEqual(
        world.files().filter((name) => name !== 'postern'),
        [],
      );
    });

    test('lets everybody run the program and read its pages, whatever the umask is', async (t) => {
      const { install, scratch, release } = await installerWorld(t, { machine });
      // A relative name with a slash at its end works as well.
      const run = () => install({ env: { POSTERN_INSTALL_DIR: 'usr/bin/' }, first: 'umask 077' });
      const { code, out, err } = await run();
      assert.deepEqual([code, err], [0, '']);
      assert.match(out, new RegExp(`installed postern 1\\.2\\.3: ${scratch}/usr/bin/postern\n.*man postern`));
      const modeOf = (path: string) => (statSync(join(scratch, 'usr', path)).mode & 0o777).toString(8);
      const all = ['bin', 'bin/postern', 'share', 'share/man', 'share/man/man1', 'share/man/man1/postern.1'];
      assert.deepEqual(all.map(modeOf), ['755', '755', '755', '755', '755', '644']);
      chmodSync(join(scratch, 'usr', 'bin', 'postern'), 0o600);
      assert.match((await run()).out, /is installed already/);
      assert.equal(modeOf('bin/postern'), '755');
      assert.deepEqual(readFileSync(join(scratch, 'usr', 'bin', 'postern')), readFileSync(release.executable));
    });
  });
}

suite('install.sh', () => {
  test('does not wait for a pipe in the place of the program', async (t) => {
    const { install, target } = await installerWorld(t);
    execFileSync('mkfifo', [join(target, 'postern')]);
    assert.match((await install()).err, /target\/postern is not a file: set POSTERN_INSTALL_DIR/);
  });

  test('can run twice at once', async (t) => {
    const { install, scratch } = await installerWorld(t);
    const bin = join(scratch, 'usr', 'bin');
    mkdirSync(bin, { recursive: true });
    writeFileSync(join(bin, 'postern'), 'exit 1\n', { mode: 0o755 });
    const both = await Promise.all([1, 2].map(() => install({ env: { POSTERN_INSTALL_DIR: bin } })));
    assert.deepEqual(
      both.map(({ code, err }) => [code, err]),
      [
        [0, ''],
        [0, ''],
      ],
    );
    assert.deepEqual(readdirSync(bin), ['postern']);
  });
});
