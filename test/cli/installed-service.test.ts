// Own process: changes its working directory, where commands look for a data directory.
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { after, suite, test } from 'node:test';
import { findInstalledServer, planService } from '../../src/app/cli/service/installed-server.ts';
import { type Role, unitText } from '../../src/app/cli/service/unit-text.ts';
import { tempDir } from '../support/temp-dir.ts';
import { TEST_API_KEY, TestWorld } from '../support/test-world.ts';
import { runCommand } from './run-command.ts';

const UNIT = '/etc/systemd/system/postern.service';
const ADA = { HOME: '/home/ada' };
const VARIABLES = '/etc/postern/postern.env';

const world = await TestWorld.open({ after });
const folder = await tempDir({ after });
const settings = join(folder, 'server.yaml');
const { host } = new URL(world.baseUrl);
await writeFile(settings, `api_listen: ${host}\n`);
process.chdir(folder);

function machine(variables: string | Error) {
  const read = (path: string): string | null => {
    if (variables instanceof Error) throw variables;
    return path === VARIABLES ? variables : null;
  };
  return { exists: (path: string) => path === UNIT, read, list: () => [] };
}

const installedServer = findInstalledServer(
  machine(`POSTERN_CONFIG="${settings}"\nPOSTERN_DATA_DIR=${world.dataDir}\nPOSTERN_API_KEY=${TEST_API_KEY}\n`),
  {},
);
const SAID = `postern: using the settings of the installed service (${VARIABLES}, ${settings})\n`;

suite('commands without flags, where a service is installed', () => {
  assert(installedServer !== null);
  const run = (args: readonly string[], env = {}) => runCommand(args, { installedServer, env });

  test('status, doctor, health and ca find its settings and its key, and say so', async () => {
    const status = await run(['status']);
    assert.match(status.stdout, /^Server +ready/m, status.stderr);
    assert.equal(status.stderr.split(SAID).length, 2, 'once');
    const doctor = await run(['doctor', '--json']);
    assert(doctor.stderr.includes(SAID));
    const { findings } = JSON.parse(doctor.stdout);
    const ofKey = findings.filter(({ check }: { check: string }) => check === 'api');
    assert(ofKey.length > 0 && ofKey.every(({ level }: { level: string }) => level === 'ok'), doctor.stdout);
    const health = await run(['health']);
    assert.deepEqual([health.code, health.stderr], [0, SAID], health.stdout);
    // This server has no edge, and so no CA yet.
    const ca = await run(['ca', 'print', '--other']);
    assert(ca.stderr.includes(`cannot read the internal CA ${world.dataDir}/`), ca.stderr);
  });

  test('what flags, variables or this directory name comes first', async () => {
    for (const [args, env] of [
      [['status', '--api-url', 'http://127.0.0.1:9'], { POSTERN_CLI_API_KEY: 'x' }],
      [['status'], { POSTERN_CLI_API_URL: 'http://127.0.0.1:9', POSTERN_CLI_API_KEY: 'x' }],
      [['doctor', '--data-dir', join(folder, 'other')], {}],
      [['doctor', '--api-url', 'http://127.0.0.1:9'], {}],
      [['doctor'], { POSTERN_CONFIG: settings, POSTERN_API_LISTEN: '127.0.0.1:9' }],
    ] as const) {
      const { stderr } = await run(args, env);
      assert(!stderr.includes('installed service ('), `${args.join(' ')}: ${stderr}`);
    }
    await mkdir('postern-data');
    const here = await run(['status'], { POSTERN_CLI_API_KEY: 'x' });
    assert(!here.stderr.includes('installed service'), here.stderr);
  });
});

suite('the installed service', () => {
  test('is nobody without a unit, or for a user who may not read its settings', () => {
    assert.equal(findInstalledServer({ exists: () => false, read: () => '', list: () => [] }, {}), null);
    const closed = Object.assign(new Error('permission denied'), { code: 'EACCES' });
    assert.equal(findInstalledServer(machine(closed), {}), null);
  });

  test('has its data where its unit says, unless its file of variables says otherwise', () => {
    assert.equal(findInstalledServer(machine(''), {})?.env['POSTERN_DATA_DIR'], '/var/lib/postern');
    assert.equal(findInstalledServer(machine('POSTERN_DATA_DIR=/srv/p\n'), {})?.env['POSTERN_DATA_DIR'], '/srv/p');
  });

  test('is found with another name, and as a service of the user', () => {
    const files = new Map<string, string>();
    const add = (role: Role, flags: Readonly<Record<string, string>>): void => {
      const plan = planService({
        role,
        flags: new Map(Object.entries(flags)),
        command: ['/usr/bin/postern'],
        env: ADA,
      });
      files.set(plan.unitFile, unitText(plan));
      files.set(plan.environmentFile, `POSTERN_DOMAIN=${plan.name}\n`);
    };
    const ports = {
      exists: (path: string) => files.has(path),
      read: (path: string) => files.get(path) ?? null,
      list: (folder: string) =>
        [...files.keys()].filter((path) => dirname(path) === folder).map((path) => basename(path)),
    };
    const found = () => findInstalledServer(ports, ADA)?.env;
    files.set('/etc/systemd/system/nginx.service', '[Unit]\nDescription=Postern server\n');
    add('agent', { name: 'office' });
    assert.equal(found(), undefined);
    add('server', { user: 'true', name: 'mine' });
    assert.deepEqual(found(), { POSTERN_DATA_DIR: '/home/ada/.config/mine', POSTERN_DOMAIN: 'mine' });
    files.set('/home/ada/.local/state/mine', '');
    assert.equal(found()?.['POSTERN_DATA_DIR'], '/home/ada/.local/state/mine');
    add('server', { name: 'public' });
    assert.deepEqual(found(), { POSTERN_DATA_DIR: '/var/lib/public', POSTERN_DOMAIN: 'public' });
    add('server', { name: 'second' });
    assert.throws(found, /several servers are services of this machine \(public, second\): set POSTERN_CLI_API_URL/);
    add('server', {});
    assert.equal(found()?.['POSTERN_DATA_DIR'], '/var/lib/postern');
  });
});
