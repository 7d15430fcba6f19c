// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references are written like this
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { operatorEnv, runCommand } from '../cli/run-command.ts';
import { EdgeWorld } from '../support/edge-world.ts';

const edge = await EdgeWorld.open({ after });
const { world } = edge;
const folder = await mkdtemp(join(tmpdir(), 'postern-passwords-'));
after(() => rm(folder, { recursive: true }));
const { host, routePath } = await edge.site(await edge.staticBackend('127.0.0.1:9'));
const path = `${routePath}/basic_auth`;

/** Everything that the API and the commands said. */
const said: string[] = [];
const SECRETS = /planted|scrypt|ln=15/;

async function api(method: string, at: string, body?: unknown) {
  const answer = await world.api(method, at, body);
  said.push(answer.text);
  return answer;
}

async function statusOf(username: string, password: string): Promise<number> {
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
  // 502: it was admitted, and there is no service.
  return (await edge.ask(host, '/', { headers: { authorization } })).status;
}

async function lastRevision(): Promise<number> {
  return (await api('GET', '/changes?limit=1')).body.changes[0].revision;
}

const users = (...passwords: readonly string[]) => ({
  users: passwords.map((password, at) => ({ username: `user${at + 1}`, password })),
});

test('a password is never shown, and an empty one keeps it', async () => {
  assert.equal((await api('PUT', path, users('planted one', 'planted two'))).status, 200);
  const shown = { enabled: true, options_passthrough: false, realm: 'Restricted' };
  const empty = users('', '');
  assert.deepEqual((await api('GET', path)).body, { ...shown, ...empty });
  const { body: route } = await api('GET', routePath);
  assert.deepEqual(route.basic_auth, { ...shown, ...empty });
  const before = await lastRevision();
  assert.equal((await api('PUT', path, (await api('GET', path)).body)).status, 200);
  assert.equal((await api('PUT', path, users('planted one', ''))).status, 200);
  assert.equal((await api('PATCH', routePath, { basic_auth: users('planted one', 'planted two') })).status, 200);
  const without = { users: [{ username: 'user1' }, { username: 'user2', password: null }] };
  assert.equal((await api('PUT', path, without)).status, 200);
  assert.equal(await lastRevision(), before, 'none of these changed anything');
  assert.deepEqual([await statusOf('user1', 'planted one'), await statusOf('user2', 'planted two')], [502, 502]);
});

test('a new name needs a password, and wrong ones are refused without repeating them', async () => {
  for (const [body, field, message] of [
    [users('', '', ''), '/users/2/password', /new user needs a password/],
    [users('planted'), '/users/0/password', /8 to 128/],
    [users(`planted${'x'.repeat(122)}`), '/users/0/password', /8 to 128/],
    [users('planted\u0000one'), '/users/0/password', /control/],
    [users('planted\ud800one'), '/users/0/password', /broken/],
    [{ users: [{ username: 'a:b', password: 'planted one' }] }, '/users/0/username', /colon/],
    [
      { users: ['é', 'e\u0301'].map((username) => ({ username, password: 'planted one' })) },
      '/users/1/username',
      /twice/,
    ],
    [{ users: [{ username: 'a', password: ['planted one'] }] }, '/users/0/password', /text|string/],
    [{ users: [{ username: 'a', password: 'planted one', hash: 'planted' }] }, '/users/0/hash', /hash/],
    [users(...Array.from({ length: 21 }, () => 'planted one')), '/users', /20/],
    [{ ...users(''), realm: 'a\nb' }, '/realm', /realm/],
  ] as const) {
    const { status, body: answer } = await api('PUT', path, body);
    assert.deepEqual([status, answer.details?.field], [400, field], answer.msg);
    assert.match(answer.msg, message);
  }
  const hash = `$scrypt$ln=15,r=8,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`;
  assert.equal((await world.api('PUT', path, users(hash))).status, 200, 'a hash is a password like others');
  assert.equal(await statusOf('user1', hash), 502);
});

test('a route has one login module', async () => {
  const oidc = { issuer: 'https://accounts.example.com', client_id: 'x' };
  const { status, body } = await api('PUT', `${routePath}/oidc`, oidc);
  assert.deepEqual([status, /basic_auth/.test(body.msg)], [400, true], body.msg);
  const both = await api('PATCH', routePath, { oidc, basic_auth: users('planted one') });
  assert.equal(both.status, 400);
});

test('an undo brings the former password back, and a redo the later one', async () => {
  await api('PUT', path, users('planted old'));
  const { body: changed } = await api('PUT', path, users('planted new'));
  assert.ok(changed);
  const undo = async (number: number): Promise<void> => {
    const { status, text } = await api('POST', `/changes/${number}/undo`, {});
    assert.ok(status < 300, text);
  };
  assert.equal(await statusOf('user1', 'planted new'), 502);
  await undo(await lastRevision());
  assert.deepEqual([await statusOf('user1', 'planted new'), await statusOf('user1', 'planted old')], [401, 502]);
  await undo(await lastRevision());
  assert.deepEqual([await statusOf('user1', 'planted new'), await statusOf('user1', 'planted old')], [502, 401]);
  const { body } = await api('GET', '/changes?limit=50');
  for (const { revision: number } of body.changes) await api('GET', `/changes/${number}`);
});

test('a PUT that keeps a password never brings back one that was replaced meanwhile', async () => {
  for (let round = 0; round < 2; round += 1) {
    await api('PUT', path, users('planted first', 'planted two'));
    const [kept, changed] = await Promise.all([
      api('PUT', path, { ...users('', ''), realm: `Round ${round}` }),
      api('PUT', path, users('planted second', '')),
    ]);
    assert.deepEqual([kept.status, changed.status], [200, 200]);
    assert.deepEqual([await statusOf('user1', 'planted second'), await statusOf('user1', 'planted first')], [502, 401]);
  }
});

test('a file names passwords by references; plan and apply change nothing twice, and an export has none', async () => {
  await world.api('DELETE', path);
  const env = { ...operatorEnv(world), ONE: 'planted one', TWO: 'planted two' };
  const run = async (...args: readonly string[]) => {
    const result = await runCommand(args, { env });
    said.push(result.stdout, result.stderr);
    return result;
  };
  const file = join(folder, 'postern-sites.yaml');
  const site = (...passwords: readonly string[]): string =>
    [
      'version: 1',
      'https_edges:',
      '  passwords.example.com:',
      '    routes:',
      '      /:',
      '        basic_auth:',
      '          users:',
      ...passwords.flatMap((password, at) => [
        `            - username: user${at + 1}`,
        ...(password === '' ? [] : [`              password: ${password}`]),
      ]),
      '',
    ].join('\n');
  await writeFile(file, site('${env:ONE}', '${env:TWO}'));
  const applied = await run('apply', '-f', file, '--yes');
  assert.equal(applied.code, 0, applied.stderr);
  const planned = await run('plan', '-f', file);
  assert.match(planned.stdout, /[Nn]o changes|nothing/);
  await writeFile(file, site('', ''));
  assert.match((await run('plan', '-f', file)).stdout, /[Nn]o changes|nothing/);

  env.ONE = 'planted other';
  await writeFile(file, site('${env:ONE}', ''));
  assert.match((await run('plan', '-f', file)).stdout, /users\.0\.password/);
  assert.equal((await run('apply', '-f', file, '--yes')).code, 0);
  assert.match((await run('plan', '-f', file)).stdout, /[Nn]o changes|nothing/);

  await writeFile(file, site('', '', ''));
  const missing = await run('plan', '-f', file);
  assert.notEqual(missing.code, 0);
  assert.match(`${missing.stdout}${missing.stderr}`, /new user needs a password/);
  await writeFile(file, site('planted here'));
  const plain = await run('plan', '-f', file);
  assert.match(`${plain.stdout}${plain.stderr}`, /is a secret, and the file must not contain it/);

  const exported = join(folder, 'exported.yaml');
  assert.equal((await run('export', '-f', exported)).code, 0);
  const text = await readFile(exported, 'utf8');
  said.push(text);
  assert.match(text, /password: "?\$\{env:[A-Z_0-9]*PASSWORD\}/);
  assert.match((await run('plan', '-f', exported)).stdout, /[Nn]o changes|nothing/);
});

test('no answer, no event, no history, no log and no file has shown a password or a hash', async () => {
  for (const at of ['/edges/https', '/changes?limit=100', '/problems', '/search?q=planted']) await api('GET', at);
  said.push(await edge.metrics());
  for (const each of said) assert.doesNotMatch(each, SECRETS);
  assert.ok(said.length > 40);
});
