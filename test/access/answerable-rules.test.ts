import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { deadAddress } from '../cli/doctor-world.ts';
import { operatorEnv, runCommand } from '../cli/run-command.ts';
import type { Site } from '../support/edge-world.ts';
import { LoginWorld } from '../support/login-world.ts';

const world = await LoginWorld.open({ after });
const { edge } = world;
const env = operatorEnv(edge.world);
const ALICE = { allow: [{ emails: ['alice@example.com'] }] };

async function siteWith(scopes: readonly string[], rules: object): Promise<Site> {
  const site = await world.site({ scopes });
  await edge.api('PUT', `${site.routePath}/access`, rules);
  return site;
}

/** What the list of problems says about a route, which it names by host and path. */
async function problemsOf({ host, routeId }: Site): Promise<readonly string[]> {
  const { problems } = await edge.api('GET', '/problems?limit=200');
  return problems
    .filter(({ object }: { object: { id: string } | null }) => object?.id === routeId)
    .map(({ severity, message }: Record<string, string>) => `${severity}: ${message?.replace(`${host}/: `, '')}`);
}

async function explained({ host }: Site, as: object) {
  const { decisions } = await edge.api('POST', '/explain', { url: `https://${host}/`, as });
  const [, login, access] = decisions as { module: string; decision: string; text: string }[];
  return { login: login?.text ?? '', access: access?.decision };
}

suite('rules about what a login tells', () => {
  test('a login whose scopes nobody chose requests those that the rules need', async () => {
    const site = await siteWith([], ALICE);
    assert.deepEqual(await problemsOf(site), []);
    const browser = world.browser();
    assert.equal((await browser.logIn(site.host, '/', 'alice')).status, 200);
    assert.equal((await world.browser().logIn(site.host, '/', 'bob')).status, 403);
  });

  test('a rule that the login cannot answer is a problem that every view reports', async () => {
    const site = await siteWith(['openid'], ALICE);
    const line = 'allow[0] matches nobody: it needs "email", and the login does not request the scope email';
    for (const isLoggedIn of [false, true]) {
      if (isLoggedIn) assert.equal((await world.browser().logIn(site.host, '/', 'alice')).status, 403);
      assert.deepEqual(await problemsOf(site), [`problem: ${line}`]);
      const { login, access } = await explained(site, { email: 'alice@example.com' });
      assert.equal(access, 'refuse');
      assert.match(
        login,
        isLoggedIn ? /last logins here, the newest at .* brought no email/ : /Nobody .* the scope for email/,
      );
      const tested = await edge.api('POST', `${site.routePath}/access/test`, { email: 'alice@example.com' });
      assert.equal(tested.allowed, false);
      assert.match(tested.message, /email/);
    }
    for (const command of ['doctor', 'status']) {
      const { code, stdout } = await runCommand([command, ...(command === 'doctor' ? ['--json'] : [])], { env });
      assert.equal(code, 1, command);
      assert.ok(stdout.includes(command === 'doctor' ? line.replaceAll('"', '\\"') : line), stdout);
    }
    await edge.api('PUT', `${site.routePath}/oidc`, world.module({ scopes: ['openid', 'email'] }));
    assert.deepEqual(await problemsOf(site), []);
    assert.equal((await explained(site, { email: 'alice@example.com' })).access, 'pass');
  });

  test('without a login nobody knows the claims, and a login shows which ones there are', async () => {
    const site = await siteWith(['openid', 'email'], { allow: [{ claims: { department: ['sales'] } }] });
    assert.deepEqual(await problemsOf(site), []);
    const assumed = { email: 'alice@example.com', claims: { department: 'sales' } };
    const before = await explained(site, assumed);
    assert.equal(before.access, 'pass');
    assert.match(before.login, /Nobody has logged in here yet/);
    await world.browser().logIn(site.host, '/', 'alice');
    // The list is kept for some seconds.
    world.clock.advance(6);
    assert.deepEqual(await problemsOf(site), [
      'warning: allow[0] matches nobody: the last logins here brought no "department"',
    ]);
    const later = await explained(site, assumed);
    assert.equal(later.access, 'refuse');
    assert.match(later.login, /brought no department/);
    const own = await explained(site, { email: 'Alice@example.com' });
    assert.match(own.login, /the claims of their last login here, at 20/);
  });

  test('a login that requests less keeps the known name and address', async () => {
    const known = async () => {
      const { application_users: users } = await edge.api('GET', '/app/users');
      return users.find(({ email }: { email: string }) => email === 'alice@example.com');
    };
    const full = await world.site();
    await world.browser().logIn(full.host, '/', 'alice');
    const before = await known();
    assert.ok(before.name !== '');
    const less = await world.site({ scopes: ['openid'] });
    await world.browser().logIn(less.host, '/', 'alice');
    const now = await known();
    assert.deepEqual([now?.id, now?.name], [before.id, before.name]);
    assert.ok(now.last_login >= before.last_login);
  });

  test('a provider that does not answer is a problem of its routes', async () => {
    const site = await world.site({ issuer: `http://${await deadAddress()}` });
    assert.match((await problemsOf(site)).join(), /^problem: nobody can log in: .*127\.0\.0\.1/);
    const { stdout } = await runCommand(['doctor'], { env });
    assert.match(stdout, new RegExp(`^problem +routes +${site.host}/: nobody can log in`, 'm'));
    await edge.api('DELETE', site.edgePath);
  });
});
