import assert from 'node:assert/strict';
import { before, suite, test } from 'node:test';
import { CONSOLE_SESSION_KIND } from '../../src/control/resources/console-session-record.ts';
import { systemClock } from '../../src/kit/clock.ts';
import { cleanupAfterSuite, ENGINES, openWorld, openWorldsOnOneDatabase, usePostgres } from '../concurrency/worlds.ts';
import { browserRequest } from '../support/browser-request.ts';
import { ConsoleBrowser, postSession } from '../support/console-browser.ts';
import { TEST_API_KEY, type TestWorld } from '../support/test-world.ts';
import { makeKey } from './keys.ts';

usePostgres();
const HOUR_MS = 3_600_000;
const codeOf = (answer: { readonly body: { readonly error_code?: string } | null }): string | undefined =>
  answer.body?.error_code;

for (const engine of ENGINES) {
  suite(`sessions of the console on ${engine}`, () => {
    const cleanup = cleanupAfterSuite();
    let offsetMs = 0;
    const clock = { ...systemClock, nowMs: () => systemClock.nowMs() + offsetMs };
    let world: TestWorld;

    before(async () => {
      world = await openWorld(cleanup, engine, { clock });
    });

    test('need cookie and token, and show who logged in with which scopes', async () => {
      const key = await makeKey(world, ['*:read']);
      const browser = await ConsoleBrowser.logIn(world.baseUrl, key.token);
      assert.deepEqual(browser.answer.who, { kind: 'key', name: key.id });
      assert.deepEqual(browser.answer.scopes, ['*:read']);
      assert.equal((await browser.send('GET', '/edges/https')).status, 200);
      const { token: _, ...view } = browser.answer;
      assert.deepEqual((await browser.send('GET', '/console/session')).body, view);
      for (const missing of ['cookie', 'postern-console-token']) {
        for (const path of ['/edges/https', '/console/session', '/console/sessions', '/nothing-here']) {
          assert.equal((await browser.send('GET', path, { headers: { [missing]: '' } })).status, 401, missing);
        }
      }
      const other = await ConsoleBrowser.logIn(world.baseUrl, key.token);
      const mixed = await browser.send('GET', '/edges/https', { headers: { cookie: other.cookie } });
      assert.equal(codeOf(mixed), 'ERR_POSTERN_CONSOLE_SESSION');
    });

    test('keep neither the key nor cookie or token', async () => {
      const browser = await ConsoleBrowser.logIn(world.baseUrl);
      const stored = JSON.stringify([...world.server.replica.all(CONSOLE_SESSION_KIND)]);
      const listed = (await world.api('GET', '/console/sessions')).text;
      const secret = browser.cookie.split('.')[1] as string;
      for (const text of [stored, listed, world.logLines.join('\n')]) {
        for (const kept of [TEST_API_KEY, browser.token, secret]) assert.ok(!text.includes(kept));
      }
      assert.match(stored, /cookieHash/);
    });

    test('set a cookie that scripts cannot read and that other sites do not send', async () => {
      const loggedIn = await postSession(world.baseUrl, TEST_API_KEY);
      const port = new URL(world.baseUrl).port;
      assert.match(
        loggedIn.cookies[0] ?? '',
        new RegExp(`^postern_console_${port}=cs_\\w+\\.[\\w-]{43}; Path=/; HttpOnly; SameSite=Strict$`),
      );
      assert.equal(loggedIn.headers['cache-control'], 'no-store');
    });

    test('end at logout, revocation, age and idleness', async () => {
      const browsers = await Promise.all([1, 2, 3, 4].map(() => ConsoleBrowser.logIn(world.baseUrl)));
      const [left, revoked, used, idle] = browsers as [ConsoleBrowser, ConsoleBrowser, ConsoleBrowser, ConsoleBrowser];
      const status = async (browser: ConsoleBrowser) => (await browser.send('GET', '/edges/https')).status;
      const out = await left.send('DELETE', '/console/session');
      assert.equal(out.status, 204);
      assert.match(out.cookies[0] ?? '', /=; Path=\/; .*Max-Age=0$/);
      assert.equal(await status(left), 401);
      assert.equal((await used.send('DELETE', `/console/sessions/${revoked.answer.id}`)).status, 204);
      assert.equal(await status(revoked), 401);
      try {
        for (const hours of [3, 6, 9, 12, 15, 18, 21]) {
          offsetMs = hours * HOUR_MS;
          assert.equal(await status(used), 200, `after ${hours} hours`);
          await until(async () => lastUsed(world, used) >= clock.nowMs() - HOUR_MS);
          if (hours >= 6) assert.equal(await status(idle), 401);
        }
        offsetMs = 24 * HOUR_MS;
        assert.equal(await status(used), 401);
        const listed = (await world.api('GET', '/console/sessions')).body.console_sessions;
        assert.deepEqual(listed, []);
      } finally {
        offsetMs = 0;
      }
    });

    test('end with their key: deleted, or with other scopes', async () => {
      const [deleted, changed] = [await makeKey(world, ['edges:read']), await makeKey(world, ['edges:read'])];
      for (const [key, end] of [
        [deleted, () => world.api('DELETE', deleted.uri)],
        [changed, () => world.api('PATCH', changed.uri, { scopes: ['edges:read', 'edges:write'] })],
      ] as const) {
        const browser = await ConsoleBrowser.logIn(world.baseUrl, key.token);
        assert.equal((await browser.send('GET', '/edges/https')).status, 200);
        assert.ok((await end()).status < 300);
        assert.equal(codeOf(await browser.send('GET', '/edges/https')), 'ERR_POSTERN_CONSOLE_SESSION');
        await until(async () => world.server.replica.get(CONSOLE_SESSION_KIND, browser.answer.id) === undefined);
      }
    });

    test('are refused to pages of other origins and under names that can be rebound', async () => {
      const browser = await ConsoleBrowser.logIn(world.baseUrl);
      const { host, port } = new URL(world.baseUrl);
      const body = { hostports: ['origin.localhost:443'] };
      const refused = [
        { origin: '' },
        { origin: 'null' },
        { origin: 'http://evil.example' },
        { origin: `http://evil.example:${port}` },
        { origin: `http://${host}.evil.example` },
        { origin: `http://127.0.0.1:${Number(port) - 1}` },
        { origin: `https://${host}` },
        { origin: `http://localhost:${port}` },
        { 'sec-fetch-site': 'same-site' },
        { 'sec-fetch-site': 'cross-site' },
        { host: `evil.example:${port}`, origin: `http://evil.example:${port}` },
        { host: `127.0.0.1.evil.example:${port}`, origin: `http://127.0.0.1.evil.example:${port}` },
        { host: `localhost@evil.example`, origin: world.baseUrl },
        { host: `evil.example:${port}` },
        { host: '127.0.0.1:99999', origin: 'http://127.0.0.1:99999' },
        { host: 'localhost:65536' },
      ];
      for (const headers of refused) {
        const written = await browser.send('POST', '/edges/https', { headers, body });
        assert.deepEqual(
          [written.status, codeOf(written)],
          [403, 'ERR_POSTERN_CONSOLE_ORIGIN'],
          JSON.stringify(headers),
        );
        const loggedIn = await postSession(
          world.baseUrl,
          TEST_API_KEY,
          headers.origin === '' ? { origin: 'null' } : headers,
        );
        assert.equal(codeOf(loggedIn), 'ERR_POSTERN_CONSOLE_ORIGIN', JSON.stringify(headers));
        assert.deepEqual(loggedIn.cookies, []);
      }
      const rebound = await browser.send('GET', '/edges/https', { headers: { host: `evil.example:${port}` } });
      assert.equal(codeOf(rebound), 'ERR_POSTERN_CONSOLE_ORIGIN');
      const asLocalhost = { host: `localhost:${port}`, origin: `http://localhost:${port}` };
      assert.equal((await browser.send('POST', '/edges/https', { headers: asLocalhost, body })).status, 201);
    });

    test('are never those of a cookie that somebody planted', async () => {
      const planted = await ConsoleBrowser.logIn(world.baseUrl);
      const victim = await ConsoleBrowser.logIn(world.baseUrl, TEST_API_KEY, { cookie: planted.cookie });
      assert.notEqual(victim.cookie, planted.cookie);
      assert.equal((await planted.send('GET', '/edges/https')).status, 401);
      const both = { cookie: `postern_console=cs_x.y; ${planted.cookie}; ${victim.cookie}` };
      assert.equal((await victim.send('GET', '/edges/https', { headers: both })).status, 200);
    });

    test('of a viewer read everything but secrets, and write nothing', async () => {
      const { token } = await makeKey(world, ['*:read']);
      const browser = await ConsoleBrowser.logIn(world.baseUrl, token);
      for (const path of ['/api_keys', '/credentials', '/changes', '/console/sessions', '/app/users', '/nodes']) {
        assert.equal((await browser.send('GET', path)).status, 200, path);
      }
      for (const path of ['/edges/https', '/api_keys', '/credentials', '/ip_policies']) {
        const refused = await browser.send('POST', path, { body: {} });
        assert.deepEqual([refused.status, codeOf(refused)], [403, 'ERR_POSTERN_FORBIDDEN'], path);
      }
      const revoked = await browser.send('DELETE', `/console/sessions/${browser.answer.id}`);
      assert.equal(revoked.status, 403);
      assert.equal((await browser.send('DELETE', '/console/session')).status, 204);
    });
  });
}

suite('sign-in to the console', () => {
  const cleanup = cleanupAfterSuite();
  let world: TestWorld;

  before(async () => {
    world = await openWorld(cleanup, 'sqlite');
  });

  test('rejects bad input, and says what to do', async () => {
    const url = `${world.baseUrl}/console/session`;
    const origin = world.baseUrl;
    for (const body of [{}, { api_key: 1 }, { api_key: '' }, { api_key: 'x'.repeat(513) }, { api_key: 'k', more: 1 }]) {
      const refused = await browserRequest(url, { method: 'POST', headers: { origin }, body });
      assert.deepEqual([refused.status, codeOf(refused)], [400, 'ERR_POSTERN_INVALID_BODY'], JSON.stringify(body));
    }
    const list = await browserRequest(url, { method: 'POST', headers: { origin }, body: ['k'] });
    assert.equal(codeOf(list), 'ERR_POSTERN_INVALID_JSON');
    const form = { origin, 'content-type': 'application/x-www-form-urlencoded' };
    assert.equal((await browserRequest(url, { method: 'POST', headers: form, body: 'x' })).status, 415);
    const large = await browserRequest(url, {
      method: 'POST',
      headers: { origin },
      body: { api_key: 'x'.repeat(5000) },
    });
    assert.equal(large.status, 413);
    const unknown = await postSession(world.baseUrl, 'not-a-key-that-exists-0123456789');
    assert.deepEqual([unknown.status, codeOf(unknown)], [401, 'ERR_POSTERN_CONSOLE_SIGN_IN']);
    assert.doesNotMatch(unknown.bytes.toString(), /not-a-key/);
  });

  test('a key with an Authorization header works as ever, whatever cookies come with it', async () => {
    const headers = { cookie: 'postern_console=cs_x.y', 'postern-console-token': 'x', origin: 'http://evil.example' };
    assert.equal((await world.api('GET', '/edges/https', undefined, { headers })).status, 200);
  });

  test('/console/config says what the login page needs', async () => {
    const { body } = await browserRequest(`${world.baseUrl}/console/config`);
    assert.equal(body.oidc, false);
    assert.equal(body.base_url, world.baseUrl);
    assert.match(body.version, /^\d+\./);
  });

  test('a browser that reloads an address of the API below /console gets the page', async () => {
    const headers = { 'sec-fetch-mode': 'navigate', accept: 'text/html' };
    const page = await browserRequest(`${world.baseUrl}/console/sessions`, { headers });
    assert.equal(page.headers['content-type'], 'text/html; charset=utf-8');
  });

  test('a session of one node is accepted by the others, and ends on all of them', async () => {
    const [one, other] = (await openWorldsOnOneDatabase(cleanup, 2)) as [TestWorld, TestWorld];
    const browser = await ConsoleBrowser.logIn(one.baseUrl);
    const status = async () => (await browser.send('GET', '/edges/https', {}, other.baseUrl)).status;
    await until(async () => (await status()) === 200);
    await browser.send('DELETE', '/console/session');
    await until(async () => (await status()) === 401);
  });
});

function lastUsed(world: TestWorld, browser: ConsoleBrowser): number {
  return Number(world.server.replica.get(CONSOLE_SESSION_KIND, browser.answer.id)?.doc['lastUsedAtMs']);
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 20));
}

test('a sibling host cannot lock an administrator out of the console, however many cookies it plants', async (context) => {
  const cleanup = { after: (done: () => Promise<unknown>) => context.after(() => done()) };
  const world = await openWorld(cleanup, 'sqlite', { env: { POSTERN_API_URL: 'https://console.example.com' } });
  const address = `http://127.0.0.1:${world.server.addresses.api?.port}`;
  const pages = [
    // Chrome and Firefox keep 180 cookies of a domain and its siblings. Those with a longer path are sent first.
    { origin: address, host: new URL(address).host, count: 179 },
    // Behind a proxy with TLS, no sibling can set the name of the page's cookie: only the size of a head limits it.
    { origin: 'https://console.example.com', host: 'console.example.com', count: 600 },
  ];
  for (const { count, ...page } of pages) {
    const { port } = new URL(page.origin);
    const browser = await ConsoleBrowser.logIn(address, TEST_API_KEY, page);
    const isHostOnly = browser.cookie.startsWith('__Host-');
    assert.equal(isHostOnly, page.origin.startsWith('https:'));
    const many = Array.from({ length: count }, (_, at) => `postern_console_${at}=x`);
    const sameName = many.map(() => `postern_console${port === '' ? '' : `_${port}`}=x`);
    for (const planted of [many, sameName]) {
      for (const cookies of [
        [...planted, browser.cookie],
        [browser.cookie, ...planted],
      ]) {
        const headers = { ...page, cookie: cookies.join('; ') };
        for (const path of ['/console/session', '/edges/https']) {
          assert.equal((await browser.send('GET', path, { headers })).status, 200, `${page.origin} ${path}`);
        }
      }
    }
    const signedInAgain = { ...page, cookie: [...many, browser.cookie].join('; ') };
    const again = await ConsoleBrowser.logIn(address, TEST_API_KEY, signedInAgain);
    assert.equal((await browser.send('GET', '/edges/https', { headers: page })).status, 401, 'replaced by the new one');
    const leaving = { ...page, cookie: [...many, again.cookie].join('; ') };
    assert.equal((await again.send('DELETE', '/console/session', { headers: leaving })).status, 204);
  }
});
