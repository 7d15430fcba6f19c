import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { projectRoot } from '../docs/markdown.ts';

const BUILDERS = ['docker', 'podman'];
const builder = BUILDERS.find((program) => spawnSync(program, ['info'], { stdio: 'ignore' }).status === 0);
/** Docker's and Podman's words. */
const NO_REGISTRY = /pinging container registry|failed to resolve source metadata/;
const missing = `THE IMAGE WAS NOT BUILT: none of ${BUILDERS.join(' and ')} works here. test/install/container.test.ts runs its steps`;

test('the image builds, starts with a read-only root file system, and becomes healthy', {
  skip: builder === undefined && missing,
}, async (t) => {
  if (builder === undefined) return;
  const image = `postern-test-${process.pid}`;
  const run = (...args: string[]) => spawnSync(builder, args, { cwd: projectRoot, encoding: 'utf8' });
  t.after(() => run('rmi', '--force', image));
  const built = run('build', '--tag', image, '.');
  if (built.status !== 0 && NO_REGISTRY.test(built.stderr)) {
    t.skip(
      'THE IMAGE WAS NOT BUILT: the registry of its base cannot be reached. test/install/container.test.ts runs its steps',
    );
    return;
  }
  assert.equal(built.status, 0, built.stderr.slice(-2000));
  t.after(() => run('rm', '--force', '--volumes', image));
  const started = run('run', '--detach', '--name', image, '--read-only', '--cap-drop', 'ALL', image);
  assert.equal(started.status, 0, started.stderr);
  const deadlineMs = performance.now() + 120_000;
  while (run('exec', image, '/usr/local/bin/postern', 'health').status !== 0) {
    assert(performance.now() < deadlineMs, run('logs', image).stdout);
    await sleep(500);
  }
  assert.notEqual(run('exec', image, 'touch', '/usr/local/bin/x').status, 0, 'the root file system can be written');
  console.log(`built and started with ${builder}`);
});
if (builder === undefined) console.error(missing);
