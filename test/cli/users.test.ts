import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import type { CommandContext } from '../../src/app/cli/command.ts';
import { usersCommand } from '../../src/app/cli/users/users-command.ts';
import { TEST_API_KEY, TestWorld } from '../support/test-world.ts';

const world = await TestWorld.open({ after }, { env: { POSTERN_IDENTITY_HOST: 'id.example.com' } });

async function users(args: readonly string[], answer?: string): Promise<{ code: number; out: string; err: string }> {
  const [out, err]: [string[], string[]] = [[], []];
  const context: CommandContext = {
    env: { POSTERN_CLI_API_URL: world.baseUrl, POSTERN_CLI_API_KEY: TEST_API_KEY },
    isTerminal: false,
    ...(answer !== undefined && { ask: async () => answer }),
    print: (line) => void out.push(line),
    warn: (line) => void err.push(line),
  };
  return { code: await usersCommand.run(args, context), out: out.join('\n'), err: err.join('\n') };
}
const account = async (email: string) =>
  (await world.api('GET', '/user_accounts')).body.user_accounts.find((each: { email: string }) => each.email === email);

suite('postern users', () => {
  test('add prints the link alone to standard output, for scripts', async () => {
    const { code, out, err } = await users(['add', 'ana@example.com', '--name', 'Ana', '--groups', 'ops, dev']);
    assert.equal(code, 0, err);
    assert.match(out, /^https:\/\/id\.example\.com\/invitation\?invite=postern_ui_\S+$/);
    assert.match(err, /Send ana@example\.com this link/);
    const { name, groups } = await account('ana@example.com');
    assert.deepEqual([name, groups], ['Ana', ['ops', 'dev']]);
  });

  test('list shows people as a table, JSON and ids', async () => {
    assert.match((await users(['list'])).out, /ana@example\.com +Ana +ops,dev +true +0/);
    assert.equal(JSON.parse((await users(['list', '-o', 'json'])).out).user_accounts.length, 2);
    assert.match((await users(['list', '-o', 'id'])).out, /^ua_\w{27}\nua_\w{27}$/);
  });

  test('people are named by their address in any case, or by id, and by nothing else', async () => {
    assert.equal((await users(['disable', 'ANA@example.com'])).code, 0);
    assert.equal((await account('ana@example.com')).active, false);
    const { id } = await account('ana@example.com');
    assert.equal((await users(['enable', id])).code, 0);
    assert.equal((await account('ana@example.com')).active, true);
    // A name is chosen by others.
    await assert.rejects(users(['disable', 'Ana']), /nobody has the address/);
    await assert.rejects(users(['disable', 'nobody@example.com']), /nobody has the address/);
  });

  test('invite makes a new link, and logout ends the logins', async () => {
    assert.match((await users(['invite', 'ana@example.com', '--remove-passkeys'])).out, /invite=postern_ui_/);
    assert.match((await users(['log-out', 'ana@example.com'])).out, /logged out everywhere/);
  });

  test('remove asks first', async () => {
    await assert.rejects(users(['remove', 'ana@example.com']), /add --yes/);
    assert.equal((await users(['remove', 'ana@example.com'], 'n')).code, 1);
    assert.ok(await account('ana@example.com'));
    assert.equal((await users(['remove', 'ana@example.com'], 'y')).code, 0);
    assert.equal(await account('ana@example.com'), undefined);
  });

  test('invites several people, each with a link of their own', async () => {
    const { code, out } = await users(['add', 'ben@example.com', 'cleo@example.com', '--groups', 'team']);
    assert.equal(code, 0);
    assert.equal(new Set(out.match(/invite=postern_ui_\S+/g)).size, 2);
    assert.match((await users(['list'])).out, /cleo@example\.com +- +team[\s\S]+ben@example\.com +- +team/);
  });

  test('rejects a command line that it does not understand', async () => {
    const twoWithOneName = ['add', 'a@example.com', 'b@example.com', '--name', 'Ana'];
    for (const args of [
      ['add'],
      twoWithOneName,
      ['disable', 'a@example.com', 'b@example.com'],
      ['disable'],
      ['delete', 'x'],
    ])
      await assert.rejects(users(args), { code: 'ERR_POSTERN_USAGE' });
    const { code, err } = await users(['add', 'not an address']);
    assert.equal(code, 1);
    assert.match(err, /one e-mail address/);
  });
});
