import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startPostern } from '../support/server-process.ts';
import { tempDir } from '../support/temp-dir.ts';
import { service } from './service-world.ts';
import { execStart, systemdMissing } from './systemd.ts';

const TIMEOUT_MS = 120_000;
const GOLDEN = fileURLToPath(new URL('./golden', import.meta.url));
/** Less is better, 100 is unprotected. The server's unit had 18 in November 2026, the agent's 15. */
const MAX_EXPOSURE = 20;

const VARIANTS: Readonly<Record<string, readonly string[]>> = {
  'server.service': ['print'],
  'agent.service': ['print', 'agent'],
  'server-of-user.service': ['print', 'server', '--user'],
  'agent-of-user.service': ['print', 'agent', '--user', '--agent-config', '/home/ada/my tunnels.yml'],
  'server-run-as.service': ['print', 'server', '--run-as', 'ingress', '--name', 'public-ingress'],
};
const ADA = { env: { HOME: '/home/ada' } };

suite('the systemd unit', { timeout: TIMEOUT_MS }, () => {
  for (const [file, args] of Object.entries(VARIANTS)) {
    test(`is as recorded in test/install/golden/${file}`, async () => {
      const { code, out } = await service(args, ADA);
      assert.equal(code, 0);
      // POSTERN_TEST_WRITE_GOLDEN=1 records an intended change.
      if (process.env['POSTERN_TEST_WRITE_GOLDEN'] === '1') writeFileSync(join(GOLDEN, file), `${out}\n`);
      assert.equal(`${out}\n`, readFileSync(join(GOLDEN, file), 'utf8'));
    });
  }

  test('passes systemd-analyze verify and security, with a path that has spaces and special characters', async (t) => {
    const missing = systemdMissing();
    if (missing !== null) {
      console.error(missing);
      return t.skip(missing);
    }
    const folder = join(await tempDir(t), 'my 100% $HOME tools');
    await mkdir(folder);
    const program = join(folder, 'postern it');
    const launcher = join(folder, 'a "launcher" for 5% of $HOME\\it');
    cpSync('/bin/true', program);
    for (const [file, args] of Object.entries(VARIANTS)) {
      const { out } = await service(args, { ...ADA, ports: { ownCommand: () => [program, launcher] } });
      assert.deepEqual(execStart(out).slice(0, 2), [program, launcher]);
      // --user and User= name things that this machine lacks.
      const unit = join(folder, '..', file);
      writeFileSync(unit, `${out.replace(/^User=ingress$/m, 'User=daemon')}\n`);
      const verified = spawnSync('systemd-analyze', ['verify', unit], { encoding: 'utf8' });
      assert.equal(`${verified.status} ${verified.stderr}`, '0 ', file);
      if (args.includes('--user')) continue;
      const flags = ['security', '--offline=yes', `--threshold=${MAX_EXPOSURE}`, '--no-pager', unit];
      const judged = spawnSync('systemd-analyze', flags, { encoding: 'utf8' });
      assert.equal(judged.status, 0, `${file}: ${judged.stdout.trim().split('\n').at(-1)}${judged.stderr}`);
    }
  });

  test('starts this checkout with the Node that runs it, whatever PATH the service has', async (t) => {
    const launcher = fileURLToPath(new URL('../../bin/postern.mjs', import.meta.url));
    const command = startPostern(t, { launcher, args: ['service', 'print'], env: { PATH: '/nonexistent' } });
    assert.equal((await command.exited).code, 0, command.stderr());
    const words = execStart(command.stdout());
    assert.deepEqual(words, [process.execPath, launcher, 'server']);
  });

  test('of an agent publishes containers with --docker, and gets the group of the socket where there is one', async () => {
    const args = ['print', 'agent', '--docker'];
    const { out } = await service(args, { ports: { read: () => 'root:x:0:\ndocker:x:999:ada\n' } });
    assert.deepEqual(execStart(out).slice(1, 4), ['start', '--all', '--docker']);
    assert.match(out, /^SupplementaryGroups=docker$/m);
    const podman = await service(args, { ports: { read: () => 'root:x:0:\n' } });
    assert.deepEqual(execStart(podman.out).slice(1, 4), ['start', '--all', '--docker']);
    assert.doesNotMatch(podman.out, /SupplementaryGroups/);
    await assert.rejects(
      service(['print', 'server', '--docker']),
      /--docker belongs to "postern service install agent"/,
    );
  });

  test('rejects what it cannot name', async () => {
    const wrong: readonly [string[], RegExp][] = [
      [['instal'], /unknown subcommand "instal"\. Did you mean "install"/],
      [['print', 'gateway'], /usage: postern service print \[server\|agent\]/],
      [['print', 'server', 'agent'], /usage/],
      [['print', '--name', 'a b'], /--name "a b": use letters/],
      [['print', '--name', '../x'], /--name/],
      [['print', '--run-as', 'root;reboot'], /is no user name/],
      [['print', '--user', '--run-as', 'ada'], /exclude each other/],
      [['print', '--agent-config', 'x'], /belongs to "postern service install agent"/],
      [['print', '--user'], /requires HOME/],
      [['print', '--domian', 'x'], /unknown flag --domian\. Did you mean "--domain"/],
    ];
    const ports = { ownCommand: () => ['/opt/"quoted"/postern'] };
    await assert.rejects(service(['print'], { ports }), /systemd cannot start \/opt\/"quoted"/);
    for (const [args, message] of wrong) await assert.rejects(service(args), message, args.join(' '));
  });
});
