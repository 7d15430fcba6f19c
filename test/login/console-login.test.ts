import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { TEST_USERS } from '../../tools/dev-idp/test-users.ts';
import { type BrowserAnswer, browserRequest } from '../support/browser-request.ts';
import { denyLogIn, IdentityProvider, logIn } from '../support/identity-provider.ts';
import { TestWorld } from '../support/test-world.ts';

/** Has registered somebody else's address, which the provider has not verified. */
const CAROL = { id: 'carol', claims: { email: 'bob@example.com', email_verified: false, groups: ['staff'] } };
const provider = await IdentityProvider.open({ after }, { clients: [], users: [...TEST_USERS, CAROL] });
const world = await TestWorld.open(
  { after },
  {
    env: {
      POSTERN_CONSOLE_OIDC_ISSUER: provider.issuer,
      POSTERN_CONSOLE_OIDC_CLIENT_ID: 'console',
      POSTERN_CONSOLE_OIDC_CLIENT_SECRET: 'the-secret-of-the-console-client',
      POSTERN_CONSOLE_ROLES: 'admin=groups:admins,operator=email:bob@example.com',
    },
  },
);
provider.setClients([
  {
    client_id: 'console',
    client_secret: 'the-secret-of-the-console-client',
    redirect_uris: [`${world.baseUrl}/console/callback`],
  },
]);

const at = (path: string): string => `${world.baseUrl}${path}`;
const cookieOf = ({ cookies }: BrowserAnswer, name: RegExp): string =>
  (cookies.find((cookie) => name.test(cookie)) ?? '').split(';')[0] ?? '';
const BROWSER = { accept: 'text/html' };

async function start(): Promise<{ readonly url: string; readonly cookie: string }> {
  const login = await browserRequest(at('/console/login'), { headers: BROWSER });
  assert.equal(login.status, 302, login.bytes.toString());
  return { url: login.headers['location'] as string, cookie: cookieOf(login, /^postern_console_login=/) };
}

function finish(callback: URL | string, cookie: string): Promise<BrowserAnswer> {
  return browserRequest(String(callback), { headers: { ...BROWSER, cookie } });
}

async function signIn(user: string): Promise<(method: string, path: string, body?: unknown) => Promise<BrowserAnswer>> {
  const { url, cookie } = await start();
  const done = await finish(await logIn(provider, url, user), cookie);
  assert.equal(done.status, 302, done.bytes.toString());
  const token = /^\/console\/#token=([\w-]{43})$/.exec(done.headers['location'] ?? '')?.[1] as string;
  const session = cookieOf(done, /^postern_console_\d/);
  const headers = { cookie: session, 'postern-console-token': token, 'service-version': '2', origin: world.baseUrl };
  return (method, path, body) => browserRequest(at(path), { method, headers, ...(body !== undefined && { body }) });
}

suite('sign-in to the console with OpenID Connect', () => {
  test('is offered, and uses state, nonce and PKCE', async () => {
    assert.equal((await browserRequest(at('/console/config'))).body.oidc, true);
    const query = new URL((await start()).url).searchParams;
    assert.equal(query.get('code_challenge_method'), 'S256');
    for (const name of ['state', 'nonce', 'code_challenge']) assert.match(query.get(name) ?? '', /^[\w-]{43}$/);
  });

  test('gives people the role that their claims have, and names them in the history', async () => {
    const send = await signIn('alice');
    const { body } = await send('GET', '/console/session');
    assert.deepEqual([body.role, body.scopes, body.who.kind], ['admin', ['*'], 'person']);
    assert.equal((await send('POST', '/ip_policies', { description: 'by a person' })).status, 201);
    const [change] = (await send('GET', '/changes?limit=1')).body.changes;
    assert.deepEqual([change.author.kind, change.author.id], ['person', body.who.name]);
    assert.deepEqual([change.author.issuer, change.author.subject], [provider.issuer, 'alice']);
    const listed = (await send('GET', '/console/sessions')).body.console_sessions;
    assert.deepEqual([listed[0].kind, listed[0].name, listed[0].role], ['person', body.who.name, 'admin']);
    assert.equal((await send('DELETE', `/console/sessions/${listed[0].id}`)).status, 204);
    assert.equal((await send('GET', '/console/session')).status, 401);
  });

  test('lets an operator write everything except keys and credentials', async () => {
    const send = await signIn('bob');
    assert.equal((await send('GET', '/console/session')).body.role, 'operator');
    assert.equal((await send('POST', '/ip_policies', {})).status, 201);
    for (const path of ['/api_keys', '/credentials', '/service_accounts', '/service_account_tokens', '/guest_links']) {
      assert.equal((await send('GET', path)).status, 200, path);
      assert.equal((await send('POST', path, {})).status, 403, path);
    }
    const account = (await world.api('POST', '/service_accounts', { name: 'backup' })).body;
    const made = await world.api('POST', '/service_account_tokens', { service_account_id: account.id });
    const token = `/service_account_tokens/${made.body.id}`;
    await world.api('PATCH', token, { expires_at: '2026-12-01T00:00:00Z' });
    const [change] = (await send('GET', '/changes?limit=1')).body.changes;
    const undone = await send('POST', `/changes/${change.revision}/undo`, {});
    assert.deepEqual([undone.status, undone.body.error_code], [403, 'ERR_POSTERN_FORBIDDEN']);
  });

  test('refuses people without a role, and says whom to ask', async () => {
    const { url, cookie } = await start();
    const refused = await finish(await logIn(provider, url, 'carol'), cookie);
    assert.equal(refused.status, 403);
    assert.match(refused.bytes.toString(), /ERR_POSTERN_CONSOLE_NO_ROLE/);
    assert.ok(!refused.cookies.some((each) => /^postern_console_\d/.test(each)));
    assert.match(refused.headers['content-security-policy'] ?? '', /^default-src 'none'/);
  });

  test('refuses callbacks of other browsers, other logins and denied ones', async () => {
    const [mine, other] = [await start(), await start()];
    const callback = await logIn(provider, mine.url, 'alice');
    const forged = new URL(callback);
    forged.searchParams.set('state', '"><script>alert(1)</script>');
    const denied = await start();
    const attempts = [
      await finish(callback, ''),
      await finish(callback, other.cookie),
      await finish(forged, mine.cookie),
      await finish(callback, mine.cookie.replace(/.$/, 'A')),
      await finish(at('/console/callback'), mine.cookie),
      await finish(await denyLogIn(provider, denied.url), denied.cookie),
    ];
    for (const { status, bytes, cookies } of attempts) {
      assert.equal(status, 403, bytes.toString());
      assert.match(bytes.toString(), /ERR_POSTERN_CONSOLE_LOGIN/);
      assert.doesNotMatch(bytes.toString(), /<script/);
      assert.ok(!cookies.some((each) => /^postern_console_\d/.test(each)));
    }
    const codeAgain = await finish(callback, mine.cookie);
    assert.equal(codeAgain.status, 302);
    assert.equal((await finish(callback, mine.cookie)).status, 403, 'the code is used');
  });

  test('says so while the provider is away, and a key still works', async () => {
    await provider.stop();
    try {
      const { url, cookie } = await start();
      const state = new URL(url).searchParams.get('state') as string;
      const refused = await finish(at(`/console/callback?state=${state}&code=x&iss=${provider.issuer}`), cookie);
      assert.equal(refused.status, 502);
      assert.match(refused.bytes.toString(), /ERR_POSTERN_CONSOLE_PROVIDER/);
    } finally {
      await provider.start();
    }
    assert.ok(!world.logLines.some((line) => line.includes('the-secret-of-the-console-client')));
  });
});
