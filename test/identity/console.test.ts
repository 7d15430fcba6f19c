import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type BrowserAnswer, browserRequest } from '../support/browser-request.ts';
import { HostBrowser, IDENTITY_HOST, IDENTITY_ISSUER, openWithoutProof } from './without-proof.ts';

const world = await openWithoutProof({ after });
const { baseUrl } = world.edge.world;
const cookieOf = ({ cookies }: BrowserAnswer, name: RegExp): string =>
  (cookies.find((cookie) => name.test(cookie)) ?? '').split(';')[0] ?? '';

type Call = (method: string, path: string, body?: unknown) => Promise<BrowserAnswer>;

/** Logs in to the console with this person's session at the identity host. */
async function logIn(browser: HostBrowser, accountId: string, proof = 'pop'): Promise<BrowserAnswer> {
  const login = await browserRequest(`${baseUrl}/console/login`, { headers: { accept: 'text/html' } });
  const asked = new URL(String(login.headers['location']));
  assert.equal(asked.host, IDENTITY_HOST);
  assert.match(asked.searchParams.get('scope') ?? '', /groups/);
  let next = asked;
  for (let step = 0; next.hostname === IDENTITY_HOST && step < 8; step += 1) {
    const isSignIn = next.pathname === '/sign-in';
    const url = isSignIn ? new URL(`/sign-in/test${next.search}`, next) : next;
    const answer = await browser.ask(
      url,
      isSignIn ? { method: 'POST', body: accountId, headers: { 'x-proof': proof } } : {},
    );
    next = new URL(String(answer.headers['location']), next);
  }
  const cookie = cookieOf(login, /^postern_console_login=/);
  return browserRequest(next.href, { headers: { accept: 'text/html', cookie } });
}

function callsOf(done: BrowserAnswer): Call {
  const token = /#token=([\w-]{43})$/.exec(done.headers['location'] ?? '')?.[1] as string;
  const cookie = cookieOf(done, /^postern_console_\d/);
  const headers = { cookie, 'postern-console-token': token, 'service-version': '2', origin: baseUrl };
  return (method, path, body) =>
    browserRequest(`${baseUrl}${path}`, { method, headers, ...(body !== undefined && { body }) });
}

test('without another provider, the console logs in members of postern-admins, and nobody else', async () => {
  const config = await browserRequest(`${baseUrl}/console/config`);
  assert.equal(config.body.oidc, true);
  const admin = await world.account('admin@example.com', ['postern-admins']);
  const done = await logIn(new HostBrowser(world.edge), admin);
  assert.equal(done.status, 302, done.bytes.toString());
  const call = callsOf(done);
  assert.equal((await call('GET', '/api_keys')).status, 200);
  const nobody = await world.account('nobody@example.com', ['ops']);
  const refused = await logIn(new HostBrowser(world.edge), nobody);
  assert.match(refused.bytes.toString(), /ERR_POSTERN_CONSOLE_NO_ROLE/);
});

test('a person who loses the group, or is disabled, loses the console at once', async () => {
  for (const [email, change] of [
    ['former@example.com', { groups: [] }],
    ['disabled@example.com', { active: false }],
  ] as const) {
    const id = await world.account(email, ['postern-admins']);
    const call = callsOf(await logIn(new HostBrowser(world.edge), id));
    assert.equal((await call('GET', '/api_keys')).status, 200);
    await world.edge.api('PATCH', `/user_accounts/${id}`, change);
    assert.equal((await call('GET', '/api_keys')).status, 401);
  }
});

test('a session that began with a code by e-mail does not open the console once its person gets a role', async () => {
  const browser = new HostBrowser(world.edge);
  const id = await world.account('promoted@example.com', []);
  assert.match((await logIn(browser, id, 'otp')).bytes.toString(), /ERR_POSTERN_CONSOLE_PASSKEY/);
  await world.edge.api('PATCH', `/user_accounts/${id}`, { groups: ['postern-admins'] });
  const refused = await logIn(browser, id, 'otp');
  assert.equal(refused.status, 403);
  assert.match(refused.bytes.toString(), /ERR_POSTERN_CONSOLE_PASSKEY/);
  assert.equal((await logIn(new HostBrowser(world.edge), id)).status, 302);
});

const SESSION = /name="session" value="([^"]+)"><input type="hidden" name="application" value="postern-console"/;
const ENDS: Readonly<Record<string, (browser: HostBrowser, session: string) => Promise<unknown>>> = {
  'the session at the identity host ends': (browser, id) => browser.submit('/account/sessions/end', { id }),
  'the browser logs out there': (browser) => browser.submit('/account/sign-out', {}),
  'the person logs out of the console there': (browser, session) =>
    browser.submit('/account/applications/end', { session, application: 'postern-console' }),
};
for (const [how, end] of Object.entries(ENDS)) {
  test(`a console session ends when ${how}, and one of another browser does not`, async () => {
    const id = await world.account(`${how.replaceAll(' ', '-')}@example.com`, ['postern-admins']);
    const [here, elsewhere] = [new HostBrowser(world.edge), new HostBrowser(world.edge)];
    const [call, other] = [callsOf(await logIn(here, id)), callsOf(await logIn(elsewhere, id))];
    const { text } = await here.open(`${IDENTITY_ISSUER}/account`, null);
    const current = /This browser<\/strong>.*?<\/form>/s.exec(text)?.[0] ?? '';
    await end(here, SESSION.exec(current)?.[1] ?? '');
    assert.deepEqual([(await call('GET', '/api_keys')).status, (await other('GET', '/api_keys')).status], [401, 200]);
  });
}

test('nobody gets a code for the console sent elsewhere', async () => {
  const browser = new HostBrowser(world.edge);
  const id = await world.account('careful@example.com', ['postern-admins']);
  await logIn(browser, id);
  const login = await browserRequest(`${baseUrl}/console/login`, { headers: { accept: 'text/html' } });
  const asked = new URL(String(login.headers['location']));
  for (const uri of [
    'https://evil.example/console/callback',
    `${IDENTITY_ISSUER}/console/callback`,
    `${baseUrl}/console`,
  ]) {
    asked.searchParams.set('redirect_uri', uri);
    const { status, headers } = await browser.ask(asked);
    assert.deepEqual([status, headers['location']], [400, undefined], uri);
  }
});
