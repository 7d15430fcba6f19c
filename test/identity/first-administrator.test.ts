import assert from 'node:assert/strict';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import type { CommandContext } from '../../src/app/cli/command.ts';
import { openCommand } from '../../src/app/cli/open/open-command.ts';
import { openControlSocket } from '../../src/app/main/handover/restarts.ts';
import type { NewPasskey } from '../../src/control/identity/contracts.ts';
import { People } from '../../src/control/identity/people.ts';
import { tempDir } from '../support/temp-dir.ts';
import { TestWorld } from '../support/test-world.ts';

const HOST = { POSTERN_IDENTITY_HOST: 'id.example.com' };
const DAY_MS = 86_400_000;
const PASSKEY: NewPasskey = {
  ...{ name: 'Laptop', credentialId: 'c', publicKey: 'k', signCount: 0, transports: [], isBackedUp: true },
  deviceType: 'multiDevice',
};

async function world(t: TestContext, env: Readonly<Record<string, string>> = {}) {
  let nowMs = Date.parse('2026-11-16T09:00:00Z');
  const clock = { nowMs: () => nowMs };
  const opened = await TestWorld.open(t, { clock, env: { ...HOST, ...env } });
  const { replica } = opened.server;
  let ids = 0;
  const people = new People({
    address: { hostname: 'id.example.com', issuer: 'https://id.example.com' },
    ...{ store: opened.store, replica, clock, mail: () => null, passkeyEvent: () => [], logOut: () => assert.fail() },
    newId: (prefix) => {
      ids += 1;
      return `${prefix}_${String(ids).padStart(27, '0')}`;
    },
    coversScopes: (scopes, wanted) => wanted.every((scope) => scopes.includes('*') || scopes.includes(scope)),
    consoleScopesOf: ({ groups }) => ((groups as string[]).includes('postern-admins') ? ['*'] : []),
  });
  t.after(() => people.close());
  const link = () => opened.server.administratorLink();
  const pass = (ms: number) => {
    nowMs += ms;
  };
  return { opened, people, link, pass };
}

const secretOf = (link: string | null): string =>
  new URL(link ?? assert.fail('no link')).searchParams.get('invite') ?? '';
const written = (dataDir: string) => readFile(join(dataDir, 'first-administrator'), 'utf8').catch(() => null);

suite('the first administrator', () => {
  test('gets a link in a file that nobody else reads, which works once', async (t) => {
    const { opened, people, link } = await world(t);
    const file = await written(opened.dataDir);
    assert.equal((await stat(join(opened.dataDir, 'first-administrator'))).mode & 0o777, 0o600);
    const secret = secretOf(file?.trim() ?? null);
    assert.ok(!opened.logLines.join('\n').includes(secret));
    const [account] = (await opened.api('GET', '/user_accounts')).body.user_accounts;
    assert.deepEqual([account.email, account.groups], ['admin@id.example.com', ['postern-admins']]);
    assert.ok('account' in (await people.acceptInvitation(secret, PASSKEY)));
    assert.deepEqual(await people.invitation(secret), { problem: 'spent' });
    assert.equal(await link(), null);
  });

  test('gets a new link as often as needed, and only the last one works, for a day', async (t) => {
    const { opened, people, link, pass } = await world(t);
    const links = [await written(opened.dataDir), await link(), await link()].map((each) =>
      secretOf(each?.trim() ?? null),
    );
    assert.equal((await opened.api('GET', '/user_accounts')).body.user_accounts.length, 1);
    const found = await Promise.all(links.map((each) => people.invitation(each)));
    assert.deepEqual(
      found.map((each) => 'account' in each),
      [false, false, true],
    );
    for (const link of links.slice(0, 2)) assert.deepEqual(await people.invitation(link), { problem: 'replaced' });
    pass(DAY_MS);
    assert.deepEqual(await people.invitation(links[2] ?? ''), { problem: 'expired' });
    assert.ok('account' in (await people.invitation(secretOf(await link()))));
  });

  test('is dead as soon as somebody else is administrator', async (t) => {
    const { opened, people, link } = await world(t);
    const secret = secretOf(await link());
    const body = { email: 'ana@example.com', groups: ['postern-admins'] };
    const ana = await opened.api('POST', '/user_accounts', body);
    // Nobody can log in as an administrator yet.
    assert.ok('account' in (await people.invitation(secret)));
    assert.ok('account' in (await people.acceptInvitation(secretOf(ana.body.invitation_url), PASSKEY)));
    assert.deepEqual(await people.invitation(secret), { problem: 'spent' });
    assert.deepEqual(await people.acceptInvitation(secret, { ...PASSKEY, credentialId: 'd' }), { problem: 'spent' });
    assert.equal(await link(), null);
  });

  test('gets no link to an account that was disabled or lost its group', async (t) => {
    const { opened, link } = await world(t);
    const [account] = (await opened.api('GET', '/user_accounts')).body.user_accounts;
    await opened.api('PATCH', account.uri, { active: false });
    assert.equal(await link(), null);
    await opened.api('PATCH', account.uri, { active: true, groups: [] });
    assert.equal(await link(), null);
    await opened.api('DELETE', account.uri);
    assert.ok(await link());
  });

  test('has the address or group that console_roles names', async (t) => {
    const { opened } = await world(t, { POSTERN_CONSOLE_ROLES: 'viewer=*,admin=email:boss@example.com' });
    const [account] = (await opened.api('GET', '/user_accounts')).body.user_accounts;
    assert.deepEqual([account.email, account.groups], ['boss@example.com', []]);
  });

  for (const [what, env] of [
    [
      'another provider logs people in to the console',
      {
        POSTERN_CONSOLE_OIDC_ISSUER: 'https://idp.example.com',
        POSTERN_CONSOLE_OIDC_CLIENT_ID: 'c',
        POSTERN_CONSOLE_ROLES: 'admin=groups:x',
      },
    ],
    ['no account could be one', { POSTERN_CONSOLE_ROLES: 'admin=team:x' }],
    ['identity is off', { POSTERN_IDENTITY_HOST: '' }],
  ] as const) {
    test(`gets no link while ${what}`, async (t) => {
      const { opened, link } = await world(t, env);
      assert.deepEqual([await link(), await written(opened.dataDir)], [null, null]);
      assert.deepEqual((await opened.api('GET', '/user_accounts')).body.user_accounts, []);
    });
  }
});

suite('postern open', () => {
  async function run(
    t: TestContext,
    { isTerminal = true, url = 'http://127.0.0.1:7080', link = 'https://id.example.com/x', args = ['--print'] },
  ) {
    const dataDir = await tempDir(t);
    let asked = 0;
    const control = await openControlSocket(dataDir, {
      restart: () => Promise.reject(new Error('nobody asked')),
      localSession: () => ({ ok: false, message: 'nobody asked' }),
      administratorLink: async () => {
        asked += 1;
        return link === '' ? null : link;
      },
    });
    t.after(() => control.close());
    const [lines, warned]: [string[], string[]] = [[], []];
    const context: CommandContext = {
      ...{ env: { POSTERN_DATA_DIR: dataDir, POSTERN_CLI_API_URL: url, DISPLAY: ':0' }, isTerminal },
      ...{ print: (line) => void lines.push(line), warn: (line) => void warned.push(line) },
    };
    assert.equal(await openCommand.run(args, context), 0);
    return { lines, asked, warned };
  }

  test('prints the link of the first administrator on the machine of the server', async (t) => {
    assert.deepEqual((await run(t, {})).lines, ['https://id.example.com/x']);
  });

  test('leaves opening it to the person: other users can read the arguments of a browser', async (t) => {
    const { lines, warned } = await run(t, { args: [] });
    assert.deepEqual(lines, ['https://id.example.com/x']);
    assert.match(warned.at(-1) ?? '', /^Copy it into the address bar/);
  });

  test('prints the console if there is an administrator', async (t) => {
    assert.deepEqual((await run(t, { link: '' })).lines, ['http://127.0.0.1:7080/console']);
  });

  for (const [what, options] of [
    ['to a script', { isTerminal: false }],
    ['for a server elsewhere', { url: 'https://postern.example.com' }],
  ] as const) {
    test(`asks for no link ${what}`, async (t) => {
      const { lines, asked } = await run(t, options);
      assert.equal(asked, 0);
      assert.match(lines[0] ?? '', /\/console$/);
    });
  }
});
