import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, afterEach, suite, test } from 'node:test';
import { EdgeWorld } from '../../support/edge-world.ts';
import { LoginWorld } from '../../support/login-world.ts';
import { freshDatabase, startPostgres } from '../../support/postgres.ts';
import { isLong } from '../../support/share-of-cases.ts';
import { startHostileProvider } from '../hostile/hostile-provider.ts';
import { HostileSite } from '../hostile/hostile-site.ts';

const world = await LoginWorld.open({ after }, { env: { POSTERN_TRUSTED_PROXIES: '127.0.0.0/8' } });
const site = await HostileSite.in(world, await startHostileProvider({ after }));
const perAddress = await HostileSite.open(
  { after },
  { env: { POSTERN_LOGIN_ATTEMPTS_PER_ADDRESS: '1', POSTERN_TRUSTED_PROXIES: '127.0.0.0/8' } },
);

afterEach(() => {
  site.provider.bend = {};
  site.world.clock.reset();
});

function redeemed(of = site): number {
  return of.tokenRequests('authorization_code');
}

suite('a login in progress is valid for one token request', () => {
  test('one callback sent many times', async () => {
    const browser = site.world.browser();
    const callback = await site.authorized(browser);
    const copies = Array.from({ length: isLong ? 50 : 15 }, () => browser.copy());
    const before = redeemed();
    const statuses = new Set<number>();
    for (let round = 0; round < 3; round += 1) {
      const answers = await Promise.all(copies.map((copy) => copy.copy().open(site.host, callback)));
      for (const { status } of answers) statuses.add(status);
    }
    assert.equal(redeemed() - before, 1);
    assert.deepEqual([...statuses], [302]);
  });

  test('also with a different code each time', async () => {
    const browser = site.world.browser();
    const callback = new URL(await site.authorized(browser), 'https://x');
    const before = redeemed();
    for (let at = 0; at < 10; at += 1) {
      callback.searchParams.set('code', `made-up-${at}`);
      await browser.copy().open(site.host, `${callback.pathname}${callback.search}`);
    }
    assert.equal(redeemed() - before, 1);
  });

  test('a browser that reloads the callback is logged in, or starts again automatically', async () => {
    const browser = site.world.browser();
    const callback = await site.authorized(browser, '/wanted?x=1');
    const before = browser.copy();
    assert.equal((await browser.open(site.host, callback)).status, 302);
    // Logged in, and the flow's cookie still exists.
    const both = browser.copy();
    both.jar.store(world.origin(site.host), flowCookies(before.jar.header(world.origin(site.host)) ?? ''));
    const again = await both.open(site.host, callback);
    assert.equal(again.headers['location'], `${world.origin(site.host)}/wanted?x=1`);
    // The first response never arrived: no session, and another redirect to the provider.
    const lost = await before.open(site.host, callback);
    assert.equal(lost.status, 302);
    assert.match(String(lost.headers['location']), /\/\.postern\/login\?to=%2Fwanted%3Fx%3D1&go=1&round=1$/);
    const [path] = String(lost.headers['location']).split('/.postern').slice(1);
    const fresh = await site.authorized(before, `/.postern${path}`);
    assert.equal((await before.open(site.host, fresh)).headers['location'], `${world.origin(site.host)}/wanted?x=1`);
  });
});

function flowCookies(header: string): string[] {
  return header
    .split('; ')
    .filter((pair) => pair.startsWith('__Host-postern-flow-'))
    .map((pair) => `${pair}; Secure; Path=/`);
}

test('one of two processes on one PostgreSQL redeems it', async (t) => {
  const postgres = await startPostgres();
  t.after(() => postgres.stop());
  const { url: databaseUrl } = await freshDatabase(postgres);
  const env = { POSTERN_SECRET_KEY: randomBytes(32).toString('base64') };
  const here = await HostileSite.open(t, { env, databaseUrl });
  const there = here.world.servedBy(await EdgeWorld.open(t, env, { databaseUrl, clock: here.world.clock }));
  await there.edge.world.server.replica.refresh();
  const browser = here.world.browser();
  const callback = await here.authorized(browser);
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, at) => {
      const copy = browser.copy();
      return (at % 2 === 0 ? copy : copy.at(there)).open(here.host, callback);
    }),
  );
  assert.equal(redeemed(here), 1);
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [302]);

  const body = new URLSearchParams({ logout_token: await here.provider.logoutToken() }).toString();
  const logouts = await Promise.all(
    [here.world, there, here.world, there].map((world) =>
      world.browser().ask(here.host, '/.postern/backchannel-logout', { method: 'POST', body }),
    ),
  );
  const statuses = logouts.map(({ status }) => status);
  assert.deepEqual(
    statuses.toSorted((one, other) => one - other),
    [200, 400, 400, 400],
    'one token, one use',
  );
});

suite('limits of token requests', () => {
  /** A callback with an invented code, from an address that the test chooses. */
  async function junk(of: HostileSite, address: string) {
    const browser = of.world.browser();
    const callback = new URL(await of.authorized(browser), 'https://x');
    callback.searchParams.set('code', 'made-up');
    return browser.open(of.host, `${callback.pathname}${callback.search}`, {
      headers: { 'x-forwarded-for': address },
    });
  }

  // Small limits: they refill so slowly that no machine is too slow for the test.
  test('an address that fails repeatedly gets 429, others log in, and it may again later', async () => {
    const limited = perAddress;
    assert.equal((await junk(limited, '2001:db8::1')).status, 302);
    const last = await junk(limited, '2001:db8::2');
    assert.deepEqual([last.status, last.headers['postern-error-code']], [429, 'ERR_POSTERN_LOGIN_RATE_LIMITED']);
    assert.ok(Number(last.headers['retry-after']) >= 1 && Number(last.headers['retry-after']) <= 60);
    await limited.logIn();
    // A limited login is not lost: the same callback completes it after the wait.
    const browser = limited.world.browser();
    const callback = await limited.authorized(browser);
    const from = { headers: { 'x-forwarded-for': '2001:db8::7' } };
    assert.equal((await browser.open(limited.host, callback, from)).status, 429);
    limited.world.clock.advance(60);
    assert.equal((await browser.open(limited.host, callback, from)).status, 302);
  });

  test("a few addresses cannot use up the issuer's budget of others", async (t) => {
    const env = { POSTERN_LOGIN_ATTEMPTS_PER_ISSUER: '4', POSTERN_TRUSTED_PROXIES: '127.0.0.0/8' };
    const limited = await HostileSite.open(t, { env });
    let last = await junk(limited, '198.51.100.1');
    for (let at = 0; at < 8 && last.status !== 503; at += 1) last = await junk(limited, '198.51.100.1');
    assert.deepEqual([last.status, last.headers['postern-error-code']], [503, 'ERR_POSTERN_LOGIN_BUSY']);
    assert.ok(Number(last.headers['retry-after']) >= 1);
    await limited.logIn();
  });

  test('copies of one callback cost the issuer one attempt, however many arrive at once', async (t) => {
    const limited = await HostileSite.open(t, { env: { POSTERN_LOGIN_ATTEMPTS_PER_ISSUER: '1' } });
    const browser = limited.world.browser();
    const callback = await limited.authorized(browser);
    const answers = await Promise.all(Array.from({ length: 20 }, () => browser.copy().open(limited.host, callback)));
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [302]);
    assert.equal(redeemed(limited), 1);
  });

  test('callbacks without a token request cost nothing', async (t) => {
    const limited = await HostileSite.open(t, {
      env: { POSTERN_LOGIN_ATTEMPTS_PER_ISSUER: '1', POSTERN_LOGIN_ATTEMPTS_PER_ADDRESS: '1' },
    });
    const spent = limited.world.browser();
    const callback = await limited.authorized(spent);
    const replay = spent.copy();
    assert.equal((await spent.open(limited.host, callback)).status, 302);
    for (let at = 0; at < 3; at += 1) await replay.copy().open(limited.host, callback);
    for (const bad of ['?code=x&state=made-up', '?code=x', `?error=access_denied`]) {
      await limited.world.browser().open(limited.host, `/.postern/callback${bad}`);
    }
    const denied = limited.world.browser();
    const state = new URL(await limited.authorized(denied), 'https://x').searchParams.get('state');
    await denied.open(limited.host, `/.postern/callback?error=access_denied&state=${state}`);
    assert.equal(redeemed(limited), 1);
    await limited.logIn();
  });

  test('limits logins from one /48 together, and others continue', async () => {
    const limited = perAddress;
    const statuses: number[] = [];
    for (let at = 0; at < 5; at += 1) statuses.push((await junk(limited, `2001:db8:1:${at}00::1`)).status);
    assert.deepEqual(statuses, [302, 302, 302, 302, 429]);
    await limited.logIn();
  });

  test('successful logins are not counted', async (t) => {
    const limited = await HostileSite.open(t, { env: { POSTERN_LOGIN_ATTEMPTS_PER_ADDRESS: '2' } });
    for (let at = 0; at < 6; at += 1) await limited.logIn();
  });
});
