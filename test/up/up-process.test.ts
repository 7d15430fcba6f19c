// Own process: starts servers, which takes long.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { get } from 'node:https';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { nonRootUser } from '../install/non-root.ts';
import { freePortsOn, ownAddresses } from '../support/cluster/own-addresses.ts';
import { LAUNCHER, startPostern } from '../support/server-process.ts';

async function freeListeners(): Promise<{ readonly api: string; readonly flags: readonly string[] }> {
  const [host = ''] = ownAddresses(1);
  const [api = '', ...others] = (await freePortsOn(host, 4)).map((port) => `${host}:${port}`);
  const names = ['--edge-listen', '--edge-http-listen', '--tunnel-listen'];
  return { api, flags: ['--api-listen', api, ...names.flatMap((name, at) => [name, others[at] ?? ''])] };
}

suite('postern up as a process, without root', () => {
  test('names the command with sudo for ports that need it, and changes nothing', async (t) => {
    const { identity, home: cwd } = await nonRootUser(t);
    const [host = ''] = ownAddresses(1);
    const [port] = await freePortsOn(host, 1);
    const api = ['--api-listen', `${host}:${port}`];
    // At the default address, somebody's server may listen.
    const args = ['up', 'app.example.com', '--to', '3000', '--yes', ...api];
    const run = startPostern(t, { args, cwd, ...identity });
    assert.equal((await run.exited).code, 1);
    assert.match(run.stderr(), /cannot listen on (\[::\]|0\.0\.0\.0):443: permission denied/);
    assert.match(run.stdout(), new RegExp(`^sudo .* up app\\.example\\.com --to 3000 --yes ${api.join(' ')}\n$`));
    const unaimed = startPostern(t, { args: ['up', 'app.localhost', ...api], cwd, ...identity });
    assert.equal((await unaimed.exited).code, 2);
    assert.match(
      unaimed.stderr(),
      /^postern: --to is required: nothing serves app\.localhost yet\. For example: --to 3000$/m,
    );
    assert.deepEqual(readdirSync(cwd), []);
  });

  test('leaves no settings file behind if the server cannot start', async (t) => {
    const { identity, home: cwd } = await nonRootUser(t);
    const args = ['up', 'app.localhost', '--to', '3000', '--data-dir', '/proc/none', ...(await freeListeners()).flags];
    const run = startPostern(t, { args, cwd, ...identity });
    assert.equal((await run.exited).code, 1);
    assert.match(run.stdout(), /^new file postern-server\.yaml$/m);
    assert.match(run.stderr(), /^postern: removed postern-server\.yaml, which this command had made$/m);
    assert.match(run.stderr(), /cannot use the data directory \/proc\/none/);
    assert.deepEqual(readdirSync(cwd), []);
  });

  test('finds a server at the address of --api-listen that the settings file does not name', async (t) => {
    const { identity, home: cwd } = await nonRootUser(t);
    const { api, flags } = await freeListeners();
    const place = ['--data-dir', join(cwd, 'data'), ...flags];
    const server = startPostern(t, { args: ['server', ...place], cwd, ...identity });
    await server.ready();
    const env = { POSTERN_DATA_DIR: join(cwd, 'data') };
    writeFileSync(join(cwd, 'postern-server.yaml'), 'region: eu\n', { mode: 0o666 });
    const elsewhere = startPostern(t, {
      args: ['down', 'app.localhost', '--api-listen', '127.0.0.1:9'],
      cwd,
      ...identity,
      env,
    });
    assert.equal((await elsewhere.exited).code, 1);
    assert.match(elsewhere.stderr(), /no server answers at http:\/\/127\.0\.0\.1:9: start it first/);
    const run = startPostern(t, {
      args: ['up', 'app.localhost', '--to', '3000', '--api-listen', api],
      cwd,
      ...identity,
      env,
    });
    await run.exited;
    const [, pid] = /Process (\d+) serves now/.exec(run.stdout()) ?? [];
    if (pid !== undefined) process.kill(Number(pid));
    assert.doesNotMatch(run.stderr(), /already listens|already in use/);
    assert.match(run.stdout(), /^Address: +https:\/\/app\.localhost/m, run.stderr());
  });

  test('says that a server started with flags does not read the settings file before it replaces anything', async (t) => {
    const { identity, home: cwd } = await nonRootUser(t);
    const { api, flags } = await freeListeners();
    const env = { POSTERN_DATA_DIR: join(cwd, 'data') };
    const server = startPostern(t, { args: ['server', ...flags], cwd, ...identity, env });
    await server.ready();
    const up = async (...args: readonly string[]) => {
      const typed = ['up', 'app.localhost', '--to', '3000', '--api-listen', api, ...args];
      const run = startPostern(t, { args: typed, cwd, ...identity, env });
      assert.equal((await run.exited).code, 1, run.stdout());
      assert.doesNotMatch(run.stdout(), /new file|serves now/);
      return run.stderr();
    };
    const [, edge = ''] = flags.slice(2);
    const moved = edge.replace(/\d+$/, '9');
    assert.match(
      await up('--edge-listen', moved),
      /does not use postern-server\.yaml: its edge_listen comes from the flag --edge-listen, .* Nothing was changed/,
    );
    assert.match(
      await up('--login', '--allow-email', 'ana@example.com'),
      /does not use postern-server\.yaml: it was started without a settings file\. identity_host must be "\w/,
    );
    assert.equal(server.child.exitCode, null, 'the server that ran still runs');
    assert.ok(!existsSync(join(cwd, 'postern-server.yaml')));
  });

  test('asks on a terminal whether to invite the owner', async (t) => {
    const { identity, home: cwd } = await nonRootUser(t);
    // Nobody can listen there: nothing starts.
    const { api } = await freeListeners();
    const flags = `--to 3000 --login --email you@example.com --api-listen ${api} --edge-listen 192.0.2.1:1`;
    const typed = `"${process.execPath}" "${LAUNCHER}" up app.localhost ${flags}`;
    const command = ['sh', '-c', `yes n | script -qefc '${typed}' /dev/null`];
    const person = startPostern(t, { command, cwd, ...identity });
    assert.equal((await person.exited).code, 1);
    assert.match(person.stdout(), /Invite you@example\.com, and let in nobody else for now\? \[y\/N\]/);
    assert.match(person.stdout(), /lets in everybody with an account .*add --allow-email you@example\.com/);
    assert.match(person.stdout(), /nothing was changed/);
    assert.deepEqual(readdirSync(cwd), []);
  });

  test('a run that was killed half way is completed by the next one', async (t) => {
    const { identity, home: cwd } = await nonRootUser(t);
    const [host = ''] = ownAddresses(1);
    const [api, edge, http, tunnel] = (await freePortsOn(host, 4)).map((port) => `${host}:${port}`);
    const args = [
      ...['up', 'app.localhost', '--to', '3000', '--api-listen', `${api}`, '--edge-listen', `${edge}`],
      ...['--edge-http-listen', `${http}`, '--tunnel-listen', `${tunnel}`],
    ];
    const killed = startPostern(t, { args, cwd, ...identity });
    while (!existsSync(join(cwd, 'postern-server.yaml')) && killed.child.exitCode === null) await sleep(5);
    killed.child.kill('SIGKILL');
    await killed.exited;
    assert.doesNotMatch(killed.stdout(), /Address:/);

    const run = startPostern(t, { args: ['up', 'app.localhost', '--to', '3000'], cwd, ...identity });
    while (!run.stdout().includes('until you press Ctrl-C') && run.child.exitCode === null) await sleep(20);
    assert.match(
      run.stdout(),
      new RegExp(`^Address: +https://app\\.localhost:${edge?.split(':')[1]}/$`, 'm'),
      run.stderr(),
    );
    run.child.kill('SIGTERM');
    assert.equal((await run.exited).code, 0);

    const typed = `'${process.execPath}' '${LAUNCHER}' up app.localhost`;
    const person = startPostern(t, { command: ['script', '-qefc', typed, '/dev/null'], cwd, ...identity });
    while (!person.stdout().includes('until you press Ctrl-C') && person.child.exitCode === null) await sleep(20);
    assert.match(person.stdout(), /^nothing to change\r\n\r\nAddress: /m);
    assert.doesNotMatch(person.stdout(), / info +ready /, 'a person sees the result, not the log');
    const port = edge?.split(':')[1];
    const headers = { host: `app.localhost:${port}` };
    get({ host, port, path: '/seen', servername: 'app.localhost', headers, rejectUnauthorized: false }, (response) =>
      response.resume(),
    ).on('error', () => {});
    while (!person.stdout().includes('/seen') && person.child.exitCode === null) await sleep(20);
    assert.match(
      person.stdout(),
      /^\d\d:\d\d:\d\d GET app\.localhost\/seen 502 \d+ ms backend:refused\r$/m,
      'a person sees who comes',
    );
    assert.doesNotMatch(person.stdout(), / GET API /);
    person.child.kill('SIGTERM');
    await person.exited;
  });
});
