import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, test } from 'node:test';
import { ask, begin, PROTOCOLS, type Protocol } from './hooked-client.ts';
import { type ModuleWay, ModuleWays } from './module-ways.ts';

const ways = await ModuleWays.open({ after });
const [first] = ways.ways as [ModuleWay];
const PASSWORD = 'correct: hörse';

function basic(username: string, password: string): Readonly<Record<string, string>> {
  return { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` };
}

/** Wrong passwords take long to compare, and are limited: they are sent with one protocol only. */
async function statuses(
  headers: readonly Readonly<Record<string, string>>[],
  sending = {},
  protocols: readonly Protocol[] = PROTOCOLS,
): Promise<string[]> {
  const seen = new Set<string>();
  for (const { edge, host } of ways.ways) {
    for (const protocol of protocols) {
      const found: number[] = [];
      for (const each of headers) found.push((await ask(edge, host, protocol, { ...sending, headers: each })).status);
      seen.add(found.join(' '));
    }
  }
  return [...seen];
}

test('the right password passes on every way, and is not forwarded; any other is asked for', async () => {
  await ways.put('basic_auth', { users: [{ username: 'älice', password: PASSWORD }], realm: 'The "site"' });
  ways.got = [];
  const right = basic('älice', PASSWORD);
  assert.deepEqual(await statuses([right, {}, { authorization: 'Bearer x' }]), ['200 401 401']);
  assert.deepEqual(await statuses([basic('älice', 'correct: horse')], {}, ['h2']), ['401']);
  assert.equal((await ask(first.edge, first.host, 'h2', { headers: basic('nobody', PASSWORD) })).status, 401);
  assert.equal(ways.got.length, ways.ways.length * PROTOCOLS.length);
  for (const { headers } of ways.got) {
    assert.equal(headers.authorization, undefined);
    assert.equal(headers['postern-auth-user-id'], '%C3%A4lice');
    const claims = Buffer.from(String(headers['postern-auth-claims']), 'base64url').toString();
    assert.deepEqual(JSON.parse(claims), { username: 'älice', sub: 'älice' });
  }
  const { headers, status } = await ask(first.edge, first.host, 'h2', {});
  assert.deepEqual([status, headers['www-authenticate']], [401, 'Basic realm="The \\"site\\"", charset="UTF-8"']);
});

test('a changed password, a removed user, a disabled and a deleted module take effect at once', async () => {
  const [old, other] = [basic('älice', PASSWORD), basic('bob', 'another password')];
  await ways.put('basic_auth', {
    users: [
      { username: 'älice', password: '' },
      { username: 'bob', password: 'another password' },
    ],
  });
  assert.deepEqual(await statuses([old, other, {}]), ['200 200 401']);
  await ways.put('basic_auth', { users: [{ username: 'älice', password: 'a new password' }] });
  assert.deepEqual(await statuses([old, basic('älice', 'a new password')], {}, ['http/1.1']), ['401 200']);
  assert.equal((await ask(first.edge, first.host, 'h2', { headers: other })).status, 401);
  await ways.put('basic_auth', { users: [] });
  assert.equal((await ask(first.edge, first.host, 'h2', { headers: basic('älice', 'a new password') })).status, 401);
  await ways.put('basic_auth', { users: [], enabled: false });
  assert.deepEqual(await statuses([{}]), ['200']);
  await ways.delete('basic_auth');
  assert.deepEqual(await statuses([{}]), ['200']);
});

test('a change of the password cuts running streams of its user, and no others', async () => {
  const users = [
    { username: 'one', password: 'password one' },
    { username: 'two', password: 'password two' },
  ];
  await ways.put('basic_auth', { users });
  ways.respond = (_request, response) => response.write('open');
  const streams = await Promise.all(
    ways.ways.flatMap(({ edge, host }) =>
      PROTOCOLS.flatMap((protocol) =>
        users.map(async ({ username, password }) => {
          const { answered, outgoing } = await begin(edge, host, protocol, { headers: basic(username, password) });
          outgoing.end();
          const { incoming, status } = await answered;
          assert.equal(status, 200);
          await once(incoming, 'data');
          const ended = Promise.race([once(incoming, 'error'), once(incoming, 'aborted'), once(incoming, 'close')]);
          let isOpen = true;
          const cut = ended.then(
            () => (isOpen = false),
            () => (isOpen = false),
          );
          incoming.resume();
          return { username, incoming, cut, isOpen: () => isOpen };
        }),
      ),
    ),
  );
  await ways.put('basic_auth', {
    users: [
      { username: 'one', password: 'password 1' },
      { username: 'two', password: '' },
    ],
  });
  const [mine, others] = [
    streams.filter(({ username }) => username === 'one'),
    streams.filter(({ username }) => username === 'two'),
  ];
  await Promise.all(mine.map(({ cut }) => cut));
  assert.ok(others.every(({ isOpen }) => isOpen()));
  // Sent again, the same password changes nothing.
  await ways.put('basic_auth', { users: [users[1] as object] });
  assert.ok(others.every(({ isOpen }) => isOpen()));
  await ways.put('basic_auth', { users: [] });
  await Promise.all(others.map(({ cut }) => cut));
  ways.respond = (_request, response) => response.end('ok');
});

test('headers that could be read in two ways are refused, and never hashed', async () => {
  await ways.put('basic_auth', { users: [{ username: 'alice', password: 'password: 1' }] });
  const good = Buffer.from('alice:password: 1').toString('base64');
  const encoded = (text: string | Buffer): string => `Basic ${Buffer.from(text).toString('base64')}`;
  const counted = async (result: string): Promise<number> =>
    Number((await ways.edge.metrics()).match(`result="${result}"} (\\d+)`)?.[1] ?? 0);
  const [wrong, right] = [await counted('wrong'), await counted('right')];
  for (const authorization of [
    `Basic ${good}=`,
    `Basic ${good.replace(/=+$/, '')}`,
    `Basic ${good}, Basic ${good}`,
    `Basic\t${good}`,
    `Basic ${good} x`,
    `Basic${good}`,
    'Basic',
    'Basic =',
    encoded('alice'),
    encoded(Buffer.from([0x61, 0xff, 0x3a, 0x62])),
    encoded('alice:pass\u0000word: 1'),
    encoded('alice\r\n:password: 1'),
    encoded(`alice:${'x'.repeat(1_600)}`),
  ]) {
    const { status } = await ask(first.edge, first.host, 'h2', { headers: { authorization } });
    assert.equal(status, 401, authorization);
  }
  assert.equal(await counted('wrong'), wrong);
  for (const authorization of [`bAsIc ${good}`, `Basic   ${good}`, `BASIC ${good}`]) {
    const { status } = await ask(first.edge, first.host, 'http/1.1', { headers: { authorization } });
    assert.equal(status, 200, authorization);
  }
  // Each worker asks the main thread once, which remembers.
  const asked = (await counted('right')) - right;
  assert.ok(
    asked >= 1 && asked <= Number(process.env['POSTERN_TEST_WORKERS'] ?? 1),
    `another spelling of the same password is asked again: ${asked}`,
  );
  const twice = [`Basic ${good}`, `Basic ${good}`] as unknown as string;
  assert.equal((await ask(first.edge, first.host, 'http/1.1', { headers: { authorization: twice } })).status, 401);
});

test('OPTIONS passes where it may, and a WebSocket needs the password', async () => {
  const users = [{ username: 'alice', password: 'password: 1' }];
  await ways.put('basic_auth', { users });
  assert.deepEqual(await statuses([{}], { method: 'OPTIONS' }), ['401']);
  await ways.put('basic_auth', { users, options_passthrough: true });
  assert.deepEqual(await statuses([{}], { method: 'OPTIONS' }), ['200']);
  const upgrade = {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
  };
  assert.equal((await ask(first.edge, first.host, 'http/1.1', { headers: upgrade })).status, 401);
});

test('access rules see the user name, and no email address', async () => {
  const users = [
    { username: 'alice', password: 'password: 1' },
    { username: 'bob', password: 'password: 2' },
  ];
  await ways.put('basic_auth', { users });
  await ways.put('access', { allow: [{ claims: { username: ['alice'] } }] });
  assert.deepEqual(await statuses([basic('alice', 'password: 1'), basic('bob', 'password: 2')]), ['200 403']);
  await ways.put('access', { allow: [{ email_domains: ['example.com'] }] });
  assert.deepEqual(await statuses([basic('alice', 'password: 1')]), ['403']);
  await ways.delete('access');
});

test('an explanation agrees, asks for no password and shows none', async () => {
  await ways.put('basic_auth', { users: [{ username: 'alice', password: 'password: 1' }] });
  const explain = async (question: object) => {
    const answer = await ways.edge.api('POST', '/explain', { url: `https://${first.host}/`, ...question });
    assert.doesNotMatch(JSON.stringify(answer), /password: 1|scrypt/);
    const said = answer.decisions.find(({ module }: { module: string }) => module === 'basic_auth');
    return [said.decision, said.reason, answer.outcome.status];
  };
  assert.deepEqual(await explain({}), ['refuse', 'no_password', 401]);
  assert.deepEqual(await explain({ headers: basic('alice', 'password: 1') }), ['refuse', 'password_unknown', 401]);
  const as = (username: string) => ({ as: { email: 'a@example.com', claims: { username } } });
  assert.deepEqual(await explain(as('alice')), ['pass', 'logged_in', undefined]);
  assert.deepEqual(await explain(as('bob')), ['refuse', 'no_such_user', 401]);
  assert.deepEqual(await explain({ as: { email: 'alice' } }), ['pass', 'logged_in', undefined]);
});

test('an agent asks for it, over https only', async () => {
  const addr = ways.serviceAddress;
  const modules = { basic_auth: { credentials: ['carol:with: a colon', 'dave:12345678'] } };
  const agent = await ways.world.agent([{ proto: 'https', addr, modules }]);
  const host = new URL(agent.publicUrl ?? '').hostname;
  for (const [headers, status] of [
    [{}, 401],
    [basic('carol', 'with: a colon'), 200],
    [basic('dave', '12345678'), 200],
    [basic('dave', '1234567'), 401],
  ] as const) {
    assert.equal((await ask(ways.edge, host, 'h2', { headers })).status, status);
  }
  for (const [proto, credentials, problem] of [
    ['https', ['carol:short'], /8 to 128/],
    ['https', ['carol'], /name:password/],
    ['https', [], /credentials/],
    ['http', ['carol:with: a colon'], /https/],
  ] as const) {
    const wrong = ways.world.agent([{ proto, addr, modules: { basic_auth: { credentials } } }]);
    await assert.rejects(wrong, (error: Error) => problem.test(error.message) && !/short|with: a/.test(error.message));
  }
});
