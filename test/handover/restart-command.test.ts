import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, suite, type TestContext, test } from 'node:test';
import { querySql } from '../store/engines.ts';
import { nextVersion } from '../support/next-version.ts';
import { type Exit, type ProcessOptions, startPostern } from '../support/server-process.ts';
import { tempDir } from '../support/temp-dir.ts';
import { localHttp } from '../tunnel/support/fault-world.ts';
import { endlessStream } from './endless-stream.ts';
import { eventually, HandoverWorld } from './handover-world.ts';
import { LoginInProgress } from './login-in-progress.ts';

// Own process: takes long.

/** A process that does not end must fail the test, not hang it. */
const TIMEOUT_MS = 400_000;

suite('postern restart', { timeout: TIMEOUT_MS }, async () => {
  const config = join(await tempDir({ after }), 'postern-server.yaml');
  await writeFile(config, 'log_level: info\n');
  const world = await HandoverWorld.open(
    { after },
    { env: { POSTERN_CONFIG: config, POSTERN_SHUTDOWN_TIMEOUT: '120' } },
  );

  test('says why the new process cannot start, and the running one goes on', async (t) => {
    await writeFile(config, 'log_level: shouting\n');
    const { code, stderr } = await restart(t, world.dataDir);
    assert.match(stderr, /log_level.*The running server continues/s);
    assert.equal(code, 1);
    const api = world.api();
    assert.equal((await api.send('POST', '/ip_policies', {})).status, 201);
    api.close();
    assert.equal(world.servers().length, 1);
    await writeFile(config, 'log_level: info\n');
  });

  test('replaces the server; logins complete, and a deletion cuts a stream of the one that drains', async (t) => {
    const stream = await endlessStream(t, world);
    const login = await LoginInProgress.open(
      t,
      world,
      `127.0.0.1:${await localHttp(t, (_request, response) => response.end('behind the login'))}`,
    );
    const back = await login.toProviderAndBack();
    const kept = login.keepingItsConnection(t);
    const backOnKept = await kept.toProviderAndBack();
    const { code, stdout } = await restart(t, world.dataDir);
    assert.match(stdout, /^Process \d+ starts .*\nProcess \d+ serves now \(version .*\)\n$/);
    assert.equal(code, 0);
    const sockets = (): Promise<string[]> => readdir(join(world.dataDir, 'control'));
    // The new process opens it after the command has ended.
    while ((await sockets()).length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    assert.deepEqual(await sockets(), [`${world.pid}.sock`]);
    assert.equal(world.servers().length, 2);
    // The old process answers the first, and the new one has to know that login at once.
    for (const page of [await kept.finish(backOnKept), await login.finish(back)]) {
      assert.deepEqual([page.status, page.text], [200, 'behind the login']);
    }
    // Another server is refused while two processes share the store.
    const third = startPostern(t, { args: ['server', '--data-dir', world.dataDir] });
    assert.equal((await third.exited).code, 1);
    assert.match(third.stderr(), /uses the data directory/);
    const api = world.api();
    await api.send('DELETE', `/edges/https/${stream.edge}`);
    await stream.cut;
    api.close();
    await world.allDrained();
    const pidFile = join(world.dataDir, 'postern.pid');
    const owner = async () => readFile(pidFile, 'utf8');
    while ((await owner()) !== `${world.pid}\n`) await new Promise((resolve) => setTimeout(resolve, 10));
  });

  test('upgrades to a version that migrates beside the running one, and refuses one that cannot', async (t) => {
    const before = world.servers().length;
    const { launcher: breaking } = await nextVersion('breaking');
    const refused = await restart(t, world.dataDir, { launcher: breaking });
    assert.match(refused.stderr, /stop it, then start this version.*The running server continues/s);
    assert.equal(refused.code, 1);
    assert.equal(world.servers().length, before);
    const { launcher, schema } = await nextVersion('additive');
    const upgraded = await restart(t, world.dataDir, { launcher });
    assert.equal(upgraded.code, 0, upgraded.stderr);
    const api = world.api();
    assert.equal((await api.send('POST', '/ip_policies', {})).status, 201);
    api.close();
    await world.allDrained();
    const location = { engine: 'sqlite', dataDir: world.dataDir } as const;
    const rows = await querySql(location, "SELECT value FROM meta WHERE name = 'schema_version'");
    assert.deepEqual(
      rows.map(({ value }) => value),
      [String(schema.version)],
    );
    const drained = world.say('drained').length;
    process.kill(world.pid, 'SIGTERM');
    await eventually(() => world.say('drained').length === drained + 1);
  });

  test('without a server, names the data directory', async (t) => {
    const dataDir = await tempDir(t);
    const { code, stderr } = await restart(t, dataDir);
    assert.match(stderr, new RegExp(`no server that can hand over runs with the data directory ${dataDir}`));
    assert.equal(code, 2);
    // As for another user, who may not look into the directory of the server.
    await writeFile(join(dataDir, 'control'), '');
    assert.match((await restart(t, dataDir)).stderr, /control cannot be read \(ENOTDIR\): run this as the user/);
    assert.match(
      (await restart(t, dataDir, { args: ['--timeout', '0'] })).stderr,
      /--timeout takes a duration from 1s to 1h/,
    );
  });
});

async function restart(
  t: TestContext,
  dataDir: string,
  { args = [], ...options }: ProcessOptions = {},
): Promise<Exit & { stdout: string; stderr: string }> {
  const command = startPostern(t, { ...options, args: ['restart', '--data-dir', dataDir, ...args] });
  const exit = await command.exited;
  return { ...exit, stdout: command.stdout(), stderr: command.stderr() };
}
