import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { parse } from 'yaml';
import { TestWorld } from '../support/test-world.ts';
import { operatorEnv, type RunOptions, runCommand } from './run-command.ts';

const world = await TestWorld.open({ after });
const edge = await created('/edges/https', { hostports: ['App.example.com:443'], description: 'the shop' });
const admin = await created(`/edges/https/${edge}/routes`, { match_type: 'path_prefix', match: '/admin' });
const root = await created(`/edges/https/${edge}/routes`, { match_type: 'path_prefix', match: '/' });
const backend = await created('/backends/static', { address: '127.0.0.1:3000', description: 'web' });
const twins = [
  await created('/ip_policies', { description: 'office' }),
  await created('/ip_policies', { description: 'office' }),
];

async function created(path: string, body: unknown): Promise<string> {
  const answer = await world.api('POST', path, body);
  assert.equal(answer.status, 201, answer.text);
  return answer.body.id;
}

function postern(args: readonly string[], options: RunOptions = {}) {
  return runCommand(args, { ...options, env: { ...operatorEnv(world), ...options.env } });
}

suite('names instead of ids', () => {
  test('finds edges by host, route by host and path, others by description or address', async () => {
    const rows: readonly (readonly [string, readonly string[]])[] = [
      [edge, ['https-edges', 'get', 'app.example.com']],
      [edge, ['https-edges', 'get', 'APP.EXAMPLE.COM']],
      [edge, ['https-edges', 'get', 'app.example.com:443']],
      [edge, ['https-edges', 'get', '--id', 'the shop']],
      [edge, ['https-edges', 'get', edge]],
      [admin, ['routes', 'get', 'app.example.com/admin']],
      [root, ['routes', 'get', '--id', 'app.example.com/']],
      [admin, ['routes', 'get', '--edge', 'app.example.com', '/admin']],
      // One value for $ROUTE, for requests that name the edge in their path and for those that do not.
      [admin, ['routes', 'get', '--edge', 'app.example.com', 'app.example.com/admin']],
      [root, ['routes', 'get', '--edge', edge, 'app.example.com/']],
      [admin, ['routes', 'get', 'the shop', '/admin']],
      [admin, ['routes', 'get', edge, admin]],
      [backend, ['static-backends', 'get', 'web']],
      [backend, ['static-backends', 'update', '127.0.0.1:3000', '--metadata', 'x']],
    ];
    for (const [id, args] of rows) {
      const { code, stdout, stderr } = await postern(['api', ...args, '-o', 'id']);
      assert.deepEqual({ code, stdout }, { code: 0, stdout: `${id}\n` }, `${args.join(' ')}\n${stderr}`);
    }
  });

  test('finds references in bodies by name', async () => {
    const put = await postern(['api', 'backend', 'replace', 'app.example.com/admin', '--backend-id', 'web']);
    assert.equal(put.code, 0, put.stderr);
    const read = await world.api('GET', `/edges/https/${edge}/routes/${admin}/backend`);
    assert.equal(read.body.backend.id, backend);
    const weighted = ['api', 'weighted-backends', 'create', '--backends', 'web=3', '--only', 'backends'];
    assert.deepEqual(JSON.parse((await postern(weighted)).stdout), { [backend]: 3 });
  });

  test('lists the candidates of an ambiguous name and does nothing', async () => {
    const { code, stdout, stderr } = await postern(['api', 'ip-policies', 'delete', 'office']);
    assert.equal(code, 2);
    assert.equal(stdout, '');
    for (const id of twins) assert.ok(stderr.includes(id), stderr);
    assert.match(stderr, /"office" names 2 ip policies: nothing was done/);
    for (const id of twins) assert.equal((await world.api('GET', `/ip_policies/${id}`)).status, 200);
  });

  test('leaves an unknown name to the API, which rejects it', async () => {
    const { code, stderr } = await postern(['api', 'https-edges', 'delete', 'gone.example.com']);
    assert.equal(code, 1);
    assert.match(stderr, /ERR_POSTERN_NOT_FOUND \(404\)/);
    assert.equal((await postern(['api', 'routes', 'get', 'gone.example.com/x'])).code, 1);
  });

  test('a name that looks like an id is an id', async () => {
    const other = await created('/ip_policies', { description: twins[0] });
    assert.equal(
      (await postern(['api', 'ip-policies', 'get', twins[0] as string, '-o', 'id'])).stdout,
      `${twins[0]}\n`,
    );
    assert.notEqual(other, twins[0]);
  });

  test('a dry run shows the id, and without a server the name', async () => {
    const args = ['api', 'https-edges', 'delete', 'app.example.com', '--dry-run'];
    assert.match((await postern(args)).stdout, new RegExp(`^DELETE .*/edges/https/${edge}\n`));
    const offline = await runCommand(args, {
      env: { POSTERN_CLI_API_URL: 'http://127.0.0.1:9', POSTERN_CLI_API_KEY: 'k' },
    });
    assert.match(offline.stdout, /^DELETE .*\/edges\/https\/app\.example\.com\n/);
  });

  test('other commands take names too', async () => {
    const changes = await postern(['changes', '--object', 'app.example.com/admin', '-o', 'json']);
    const { changes: found } = JSON.parse(changes.stdout) as { changes: { objects: { id: string }[] }[] };
    assert.ok(found.length > 0 && found.every(({ objects }) => objects.some(({ id }) => id === admin)));
    const access = await postern(['access', 'test', '--route', 'app.example.com/admin', '--email', 'a@example.com']);
    assert.doesNotMatch(access.stderr, /required/);
    assert.equal((await postern(['access', 'test', '--route', '/admin'])).code, 2);
  });
});

suite('output', () => {
  test('is a table, JSON, YAML or ids', async () => {
    const list = ['api', 'https-edges', 'list'];
    const json = await postern([...list, '-o', 'json']);
    assert.equal(json.stdout, (await postern([...list, '--json'])).stdout);
    assert.deepEqual(parse((await postern([...list, '-o', 'yaml'])).stdout), JSON.parse(json.stdout));
    assert.equal((await postern([...list, '--output=id'])).stdout, `${edge}\n`);
    assert.match((await postern([...list, '-o', 'table'])).stdout, /^HOSTPORTS .* ID\n/);
    assert.match((await postern([...list, '-o', 'tabel'])).stderr, /--output must be .* Did you mean "table"/);
    assert.equal((await postern([...list, '-o', 'yaml', '--json'])).code, 2);
  });

  test('has color on terminals only, and NO_COLOR turns it off', async () => {
    const list = ['api', 'https-edges', 'list'];
    const env = { TERM: 'xterm' };
    assert.ok((await postern(list, { columns: 100, env })).stdout.startsWith('\x1b[1mHOSTPORTS'));
    assert.ok(!(await postern(list, { columns: 100, env: { ...env, NO_COLOR: '1' } })).stdout.includes('\x1b'));
    assert.ok(!(await postern(list, { env })).stdout.includes('\x1b'));
  });

  test('never lets a name control the terminal', async () => {
    const hostile = 'evil \u001b[2J\u009b31m\u202e\r\nnext 漢字'.repeat(3);
    const id = await created('/ip_policies', { description: hostile });
    await created('/ip_policies', { description: hostile });
    for (const args of [
      ['list'],
      ['list', '-o', 'json'],
      ['list', '-o', 'yaml'],
      ['get', id],
      ['get', id, '--only', 'description'],
      ['get', hostile],
    ]) {
      const { stdout, stderr } = await postern(['api', 'ip-policies', ...args], { columns: 60 });
      assert.doesNotMatch(`${stdout}${stderr}`, /(?!\n)[\p{Cc}\p{Cf}]/u, args.join(' '));
    }
    const { stdout } = await postern(['api', 'ip-policies', 'get', id, '-o', 'json']);
    assert.equal(JSON.parse(stdout).description, hostile);
  });
});

suite('--watch', () => {
  test('prints what is new, and ends with Ctrl-C', async () => {
    const lines: string[] = [];
    const { code } = await postern(['api', 'credentials', 'list', '--watch', '--every', '0.1', '--all'], {
      onLine: (line, interrupt) => {
        lines.push(line);
        if (lines.length === 2) void created('/credentials', { description: 'watched' });
        if (line.includes('watched')) interrupt();
      },
    });
    assert.equal(code, 0);
    assert.equal(lines.filter((line) => /^DESCRIPTION .*ID$/.test(line)).length, 1, lines.join('\n'));
    assert.match(lines.at(-1) ?? '', /watched/);
  });

  test('repaints a terminal, and leaves the last frame on the screen', async () => {
    let frames = 0;
    const { code, stdout } = await postern(['nodes', '--watch', '--every', '0.1'], {
      columns: 80,
      onLine: (_line, interrupt) => {
        frames += 1;
        if (frames === 2) interrupt();
      },
    });
    assert.equal(code, 0);
    assert.ok(stdout.startsWith('\x1b[?1049h'));
    const [, afterwards = ''] = stdout.split('\x1b[?1049l');
    assert.match(afterwards, /^NAME .*ID\n/);
  });

  test('ends with the exit code of a command that cannot work', async () => {
    assert.equal((await postern(['api', 'https-edges', 'get', 'gone.example.com', '--watch'])).code, 1);
    const env = { POSTERN_CLI_API_URL: 'http://127.0.0.1:9' };
    assert.equal((await postern(['changes', '--watch'], { env })).code, 3);
    assert.equal((await postern(['changes', '--every', '3'])).code, 2);
    assert.equal((await postern(['changes', '--watch', '--every', 'x'])).code, 2);
  });
});
