// Own process: starts servers, and commands as another user.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createServer as createSocketServer } from 'node:net';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { fetchWith } from '../../src/app/cli/api/api-fetch.ts';
import { localSessions } from '../../src/app/cli/api/local-session.ts';
import { Restarts } from '../../src/app/main/handover/restarts.ts';
import { LocalCallers } from '../../src/control/api/authentication.ts';
import type { Cleanup } from '../support/cleanup.ts';
import { freshDatabase, startPostgres } from '../support/postgres.ts';
import { LAUNCHER, startPostern } from '../support/server-process.ts';
import { isLong } from '../support/share-of-cases.ts';
import { tempDir } from '../support/temp-dir.ts';
import { TestWorld } from '../support/test-world.ts';
import { type CommandResult, runCommand } from './run-command.ts';

const NOBODY = 65_534;
const COMMON = { POSTERN_ROLES: 'api', POSTERN_NODE_NAME: 'attic' };
const isRoot = process.geteuid?.() === 0;
const NOT_ROOT = isRoot ? false : 'only root can run a command as another user';

interface Started {
  readonly data: string;
  readonly url: string;
  readonly control: string;
  output(): string;
  run(args: readonly string[], more?: Readonly<Record<string, string>>, columns?: number): Promise<CommandResult>;
}

type Env = Readonly<Record<string, string>>;

async function startProcess(t: Cleanup, env: Env = {}, data: string): Promise<Pick<Started, 'url' | 'output'>> {
  const server = startPostern(t, {
    args: ['server'],
    env: { POSTERN_DATA_DIR: data, POSTERN_API_LISTEN: '127.0.0.1:0', ...COMMON, ...env },
  });
  const { base_url: url } = await server.ready();
  return { url, output: () => server.stdout() + server.stderr() };
}

/** As the process of a server does. Only one of this file is a process in `npm test`. */
async function startHere(t: Cleanup, env: Env = {}, data: string): Promise<Pick<Started, 'url' | 'output'>> {
  const opened: { restarts?: Restarts } = {};
  // First: nobody gets a token of a server that is being closed.
  t.after(async () => opened.restarts?.close());
  const world = await TestWorld.open(t, { dataDir: data, env: { ...COMMON, ...env } });
  opened.restarts = await Restarts.open(world.server, { args: [], env: {}, dataDir: data, isApiTls: false });
  return { url: world.baseUrl, output: () => world.logLines.join('\n') };
}

async function startServer(t: Cleanup, env: Env = {}, dataDir?: string, start = isLong ? startProcess : startHere) {
  const data = dataDir ?? join(await tempDir(t), 'data');
  const { url, output } = await start(t, env, data);
  // The control socket is opened a moment after the ready line.
  const control = join(data, 'control');
  const isOpen = async () => (await readdir(control).catch(() => [])).some((name) => name.endsWith('.sock'));
  const isRefused = () => output().includes('cannot reach this server');
  while (!(await isOpen()) && !isRefused()) await new Promise((resolve) => setTimeout(resolve, 10));
  await rm(join(data, 'first-api-key'), { force: true });
  const run: Started['run'] = (args, more = {}, columns) =>
    runCommand(args, { env: { POSTERN_DATA_DIR: data, ...more }, ...(columns !== undefined && { columns }) });
  return { data, url, control, output, run } satisfies Started;
}

const tokenOf = async (data: string): Promise<string> => {
  const { sessions } = await localSessions({ dataDir: data, isNamed: true }, {});
  return sessions[0]?.apiKey.key ?? assert.fail('no token');
};

const shared = await startServer({ after }, {}, undefined, startProcess);

suite('a command on the machine of the server', () => {
  test('needs no key and no address, and is named in the history', async () => {
    const { run, url, output } = shared;
    for (const command of ['status', 'requests', 'doctor', 'api api-keys list', 'users list', 'search x']) {
      const { code, stderr } = await run(command.split(' '));
      assert.ok([0, 1].includes(code), `${command}: ${stderr}`);
      assert.doesNotMatch(stderr, /no API key|cannot be reached/, command);
    }
    const doctor = await run(['doctor', '--api-listen', new URL(url).host]);
    assert.match(doctor.stdout, /the key from the server on this machine \(as local:attic\) is valid/);
    const unnamed = await run(['doctor']);
    assert.match(
      unnamed.stdout,
      new RegExp(`ok +api +${url} is ready`),
      'an address that only a flag of the server named',
    );
    const made = await run(['api', 'ip-policies', 'create', '--description', 'by hand']);
    assert.equal(made.code, 0, made.stderr);
    const changes = await run(['changes', '--output', 'json']);
    const [last] = JSON.parse(changes.stdout).changes;
    assert.deepEqual([last.author.kind, last.author.id, last.author.name], ['local', 'local:attic', 'local:attic']);
    assert.match((await run(['changes'])).stdout, /local:attic/);
    assert.doesNotMatch(output(), /postern_lo_/);
    assert.equal(await fetch(`${url}/ip_policies`).then(({ status }) => status), 401);
  });

  test('works although the first key was deleted, or is that of another server', async () => {
    const { run, data } = shared;
    await writeFile(join(data, 'first-api-key'), `postern_ak_${'x'.repeat(43)}\n`, { mode: 0o600 });
    const { code, stderr } = await run(['status'], { POSTERN_API_KEY: 'other-key-of-a-shell-that-is-long-enough' });
    assert.equal(code, 0, stderr);
    await rm(join(data, 'first-api-key'));
  });

  test('needs none with a store in PostgreSQL either', async (t) => {
    const postgres = await startPostgres();
    t.after(() => postgres.stop());
    const database = await freshDatabase(postgres);
    const { run, url } = await startServer(t, { POSTERN_DATABASE_URL: database.url });
    const status = await run(['status']);
    assert.equal(status.code, 0, status.stderr);
    assert.match(status.stdout, new RegExp(`ready.*${url}`));
    const made = await run(['api', 'ip-policies', 'create', '--description', 'in PostgreSQL']);
    assert.equal(made.code, 0, made.stderr);
    assert.match((await run(['changes', '--limit', '1'])).stdout, /local:attic +created ip_policy in PostgreSQL/);
    const link = await run(['open', '--print'], {}, 100);
    assert.match(link.stdout, new RegExp(`^${url}/console/enter\\?link=`));
  });

  test('uses a key that is named instead', async (t) => {
    const { run } = shared;
    const wrong = await run(['changes'], { POSTERN_CLI_API_KEY: 'postern_ak_wrong' });
    assert.match(wrong.stderr, /the API key is not known.*the key came from POSTERN_CLI_API_KEY/);
    const file = join(await tempDir(t), 'key');
    await writeFile(file, 'postern_ak_wrong');
    assert.match((await run(['changes', '--api-key-file', file])).stderr, /the key came from --api-key-file /);
  });

  test('says that a server does not answer, and what it waits for', async (t) => {
    const data = await tempDir(t);
    const control = join(data, 'control');
    await mkdir(control, { mode: 0o700 });
    const waitedMs: number[] = [];
    const silent = createSocketServer((socket) => {
      const began = performance.now();
      socket.once('close', () => waitedMs.push(performance.now() - began)).resume();
    }).listen(join(control, '1.sock'));
    await once(silent, 'listening');
    t.after(() => silent.close());
    const { code, stderr } = await runCommand(['status'], { env: { POSTERN_DATA_DIR: data }, columns: 80 });
    assert.equal(code, 2);
    const [first = '', ...others] = stderr.trimEnd().split('\n');
    assert.equal(first, `postern: waiting for the server with the data directory ${data}`);
    assert.match(others.at(-1) ?? '', /no API key.* did not answer within 3 seconds/);
    const names = execFile(process.execPath, [LAUNCHER, 'completion', 'names', 'https_edge'], {
      env: { ...process.env, POSTERN_DATA_DIR: data },
    });
    assert.deepEqual(await once(names, 'exit'), [0, null]);
    assert.ok((waitedMs.at(-1) ?? Number.POSITIVE_INFINITY) < 2_900, 'a key press in a shell waits for this');
    assert.equal(
      (await runCommand(['open'], { env: { POSTERN_DATA_DIR: data } })).stdout,
      'http://127.0.0.1:7080/console\n',
    );
  });

  test('finds the server by the settings that "postern up" wrote here, and not by those of another user', async (t) => {
    const cwd = await tempDir(t);
    const settings = join(cwd, 'postern-server.yaml');
    await writeFile(settings, `data_dir: ${shared.data}\n`);
    const status = async (): Promise<string> => {
      const { PATH = '' } = process.env;
      const child = execFile(process.execPath, [LAUNCHER, 'status'], { cwd, env: { PATH } }, () => {});
      let text = '';
      for (const stream of [child.stdout, child.stderr]) stream?.on('data', (part: string) => (text += part));
      await once(child, 'close');
      return text;
    };
    assert.match(await status(), new RegExp(`ready.*${shared.url}`));
    if (!isRoot) return;
    await chown(settings, NOBODY, NOBODY);
    assert.match(await status(), /no server was started with the data directory postern-data/);
  });

  test('says what it waits for while the API is slow', async (t) => {
    const slow = createServer((_request, response) => {
      setTimeout(() => response.writeHead(200, { 'content-type': 'application/json' }).end('{"changes":[]}'), 1_500);
    }).listen(0, '127.0.0.1');
    await once(slow, 'listening');
    t.after(() => slow.close());
    const url = `http://127.0.0.1:${(slow.address() as { port: number }).port}`;
    const env = { POSTERN_CLI_API_URL: url, POSTERN_CLI_API_KEY: 'postern_ak_x' };
    for (const command of ['changes', 'api https-edges list']) {
      const { stderr } = await runCommand(command.split(' '), { env, columns: 80 });
      assert.match(stderr, new RegExp(`^postern: waiting for ${url}\n`), command);
      assert.doesNotMatch((await runCommand(command.split(' '), { env })).stderr, /waiting/);
    }
  });

  test('never sends its token to another address', async (t) => {
    const { run, url } = shared;
    const sent: (string | undefined)[] = [];
    const other = createServer((request, response) => {
      sent.push(request.headers.authorization);
      response.writeHead(401).end('{}');
    }).listen(0, '127.0.0.1');
    await once(other, 'listening');
    t.after(() => other.close());
    const { port } = other.address() as { port: number };
    const named = await run(['changes', '--api-url', `http://127.0.0.1:${port}`]);
    assert.equal(named.code, 2);
    assert.match(named.stderr, /no API key.*serves another address than http:\/\/127\.0\.0\.1/);
    const variable = await run(['changes'], { POSTERN_CLI_API_URL: `http://localhost:${port}` });
    assert.equal(variable.code, 2);
    assert.deepEqual(sent, []);
    assert.equal((await run(['changes', '--api-url', url])).code, 0);
  });

  test('of another user is refused', { skip: NOT_ROOT }, async (t) => {
    const { data, control, url } = shared;
    // Even if the data directory itself were open.
    await chmod(data, 0o755);
    await chmod(join(data, '..'), 0o755);
    const [socket = ''] = await readdir(control);
    const asNobody = startPostern(t, {
      ...{ args: ['changes'], env: { POSTERN_DATA_DIR: data, POSTERN_CLI_API_URL: url }, uid: NOBODY, gid: NOBODY },
    });
    assert.equal((await asNobody.exited).code, 2);
    assert.match(asNobody.stderr(), /no API key.*cannot be read \(EACCES\): run this as the user of the server/);
    await chmod(control, 0o711);
    const direct = startPostern(t, {
      ...{ command: [process.execPath, '-e'], uid: NOBODY, gid: NOBODY },
      args: [
        `require('net').connect(${JSON.stringify(join(control, socket))}).on('error', (e) => console.log(e.code))`,
      ],
    });
    await direct.exited;
    assert.match(direct.stdout(), /EACCES/);
    await chmod(control, 0o700);
  });

  for (const [what, spoil, restore] of [
    ['that others may use', (control: string) => chmod(control, 0o755), (control: string) => chmod(control, 0o700)],
    [
      'that is a link',
      async (control: string) => {
        await rename(control, `${control}-elsewhere`);
        await symlink(`${control}-elsewhere`, control);
      },
      async (control: string) => {
        await rm(control);
        await rename(`${control}-elsewhere`, control);
      },
    ],
  ] as const) {
    test(`does not trust a directory ${what}`, async () => {
      const { run, control } = shared;
      await spoil(control);
      const { code, stderr } = await run(['changes']);
      assert.equal(code, 2);
      assert.match(stderr, /no API key.*(other users may use|is not a directory)/);
      await restore(control);
    });

    test(`gets nothing from a server with a directory ${what}`, async (t) => {
      const data = join(await tempDir(t), 'data');
      await mkdir(join(data, 'control'), { recursive: true, mode: 0o700 });
      await spoil(join(data, 'control'));
      const { output, run } = await startServer(t, {}, data);
      assert.match(output(), /commands on this machine cannot reach this server without an API key/);
      assert.equal((await run(['changes'])).code, 2);
      assert.deepEqual(
        (await readdir(join(data, 'control'))).filter((name) => name.endsWith('.sock')),
        [],
      );
    });
  }

  test('as root does not follow a server of somebody else in this folder', { skip: NOT_ROOT }, async (t) => {
    const data = join(await tempDir(t), 'data');
    const control = join(data, 'control');
    await mkdir(control, { recursive: true, mode: 0o700 });
    let asked = 0;
    const fake = createSocketServer((socket) => {
      socket
        .on('error', () => {})
        .on('data', () => {
          asked += 1;
          socket.end(`${JSON.stringify({ ok: true, url: 'http://127.0.0.1:9', token: 'x', name: 'local:x' })}\n`);
        });
    }).listen(join(control, '1.sock'));
    await once(fake, 'listening');
    t.after(() => fake.close());
    const { chown } = await import('node:fs/promises');
    await chown(control, NOBODY, NOBODY);
    const here = await localSessions({ dataDir: data, isNamed: false }, {});
    assert.match(here.problem ?? '', /belongs to another user: set POSTERN_DATA_DIR/);
    assert.deepEqual([here.sessions, asked], [[], 0]);
    const named = await localSessions({ dataDir: data, isNamed: true }, {});
    const bySudo = await localSessions({ dataDir: data, isNamed: false }, { SUDO_UID: String(NOBODY) });
    assert.deepEqual([named.sessions.length, bySudo.sessions.length], [1, 1]);
  });

  test('has the role of local_commands, or needs a key', async (t) => {
    const viewer = await startServer(t, { POSTERN_LOCAL_COMMANDS: 'viewer' });
    assert.equal((await viewer.run(['changes'])).code, 0);
    const write = await viewer.run(['api', 'ip-policies', 'create']);
    assert.equal(write.code, 1);
    assert.match(write.stderr, /scope/);
    const off = await startServer(t, { POSTERN_LOCAL_COMMANDS: 'off' });
    const refused = await off.run(['changes']);
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /no API key.*its setting local_commands is off.*store create-key/s);
  });

  test('says what to do when no server runs', async (t) => {
    const empty = await tempDir(t);
    const { stderr } = await runCommand(['changes'], { env: { POSTERN_DATA_DIR: empty } });
    assert.match(stderr, /^postern: no server was started with the data directory .*Start it with "postern server"/);
  });

  test('opens the console, and says as whom', async () => {
    const { run, url } = shared;
    const { stdout, stderr } = await run(['open', '--print'], {}, 80);
    assert.match(stderr, /This link logs you in as local:attic, which stands for the user of the server, once/);
    const link = stdout.trim();
    assert.ok(link.startsWith(`${url}/console/enter?link=`), link);
    const entered = await fetch(link, { redirect: 'manual' });
    const token = /#token=(.*)$/.exec(entered.headers.get('location') ?? '')?.[1] ?? '';
    const cookie = (entered.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
    const headers = { cookie, 'postern-console-token': token, origin: url };
    const session = await fetch(`${url}/console/session`, { headers });
    const { who, scopes } = (await session.json()) as { who: unknown; scopes: unknown };
    assert.deepEqual([who, scopes], [{ name: 'local:attic', kind: 'local' }, ['*']]);
    const listed = JSON.parse((await run(['api', 'console-sessions', 'list', '--output', 'json'])).stdout);
    assert.deepEqual([listed.console_sessions[0].kind, listed.console_sessions[0].api_key], ['local', null]);
    assert.equal((await fetch(link, { redirect: 'manual' })).status, 403);
  });
});

suite('a token for local commands', () => {
  const at = (start: number) => {
    let nowMs = start;
    const clock = { nowMs: () => nowMs };
    const pass = (ms: number): void => {
      nowMs += ms;
    };
    return { clock, pass };
  };

  test('ends after five minutes, and is not that of another process', () => {
    const { clock, pass } = at(1_000_000);
    const options = { clock, node: 'attic', scopes: ['*'] };
    const [one, other] = [new LocalCallers(options), new LocalCallers(options)];
    const token = one.issue()?.token ?? '';
    assert.equal(one.find(token)?.apiKeyId, 'local:attic');
    assert.equal(other.find(token), null);
    const [, expires = '', rest = ''] = /^postern_lo_([0-9a-z]+)(\..*)$/.exec(token) ?? [];
    const later = (Number.parseInt(expires, 36) + 1_000_000).toString(36);
    for (const forged of [
      `postern_lo_${later}${rest}`,
      'postern_lo_',
      'postern_lo_zzz..',
      `${token}x`,
      token.slice(0, -1),
    ])
      assert.equal(one.find(forged), null, forged);
    pass(5 * 60_000);
    assert.equal(one.find(token), null);
    assert.equal(new LocalCallers({ ...options, scopes: null }).issue(), null);
  });

  test('of one server is refused by another one', async (t) => {
    const [one, other] = [shared, await startServer(t)];
    const headers = { authorization: `Bearer ${await tokenOf(one.data)}`, 'service-version': '2' };
    assert.equal((await fetch(`${one.url}/ip_policies`, { headers })).status, 200);
    const refused = await fetch(`${other.url}/ip_policies`, { headers });
    assert.equal(refused.status, 401);
    assert.match(await refused.text(), /a token for commands on the machine of a server/);
    const body = JSON.stringify({ api_key: await tokenOf(one.data) });
    const login = await fetch(`${one.url}/console/session`, {
      ...{ method: 'POST', body, headers: { 'content-type': 'application/json', origin: one.url } },
    });
    assert.equal(login.status, 401);
  });

  test('is renewed while a command runs', async (t) => {
    const seen: (string | undefined)[] = [];
    // Nobody gives out tokens for a moment; then both processes of a handover do.
    const tokens = [[], ['of-the-old-process'], ['of-the-old-process', 'new']];
    const server = createServer((request, response) => {
      seen.push(request.headers.authorization);
      response.writeHead(request.headers.authorization === 'Bearer new' ? 200 : 401).end('{}');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => server.close());
    const { port } = server.address() as { port: number };
    const send = fetchWith({ key: 'old', source: 'x', renew: async () => tokens.shift() ?? [] });
    const init = {
      method: 'GET',
      headers: { authorization: 'Bearer old' },
      signal: t.signal,
      redirect: 'error',
    } as const;
    const answers = [await send(`http://127.0.0.1:${port}/`, init), await send(`http://127.0.0.1:${port}/`, init)];
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200],
    );
    assert.deepEqual(
      seen,
      ['old', 'of-the-old-process', 'of-the-old-process', 'new', 'new'].map((token) => `Bearer ${token}`),
    );
  });
});
