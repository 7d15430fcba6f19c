import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { suite, test } from 'node:test';
import { createLocalJWKSet, decodeJwt, jwtVerify } from 'jose';
import { valuesOf } from '../../src/kit/http/header-values.ts';
import { ENGINES, type EngineName, emptyLocation, openAt, querySql, usePostgres } from '../store/engines.ts';
import type { Cleanup } from '../support/cleanup.ts';
import {
  askedLogin,
  client,
  HOST,
  ISSUER,
  ProviderWorld,
  REDIRECT_URI,
  redeem,
  TestBrowser,
} from './provider-world.ts';

usePostgres();

async function opened(t: Cleanup, engine: EngineName = 'sqlite') {
  const location = await emptyLocation(t, engine);
  const clock = { atMs: 0, nowMs: () => (clock.atMs === 0 ? Date.now() : clock.atMs) };
  const world = await ProviderWorld.open(t, await openAt(location), clock);
  await world.person('ua_ana');
  const rows = async (): Promise<number> => (await querySql(location, 'SELECT id_hash FROM identity_artifacts')).length;
  return { location, world, rows, clock };
}

for (const engine of ENGINES) {
  suite(engine, { concurrency: 2 }, () => {
    test('logs a person in to an application, whose tokens say who they are', async (t) => {
      const { world } = await opened(t, engine);
      const { url, verifier } = await askedLogin();
      const back = await world.browser().logIn(url, 'ua_ana');
      assert.equal(`${back.origin}${back.pathname}`, REDIRECT_URI);
      assert.deepEqual([back.searchParams.get('state'), back.searchParams.get('iss')], ['a-state', ISSUER]);
      const { status, body } = await redeem(world, back.searchParams.get('code') ?? '', verifier);
      assert.equal(status, 200, JSON.stringify(body));
      const keys = await (await world.fetch(`${ISSUER}/jwks`)).json();
      const { payload } = await jwtVerify(body.id_token, createLocalJWKSet(keys as never), {
        issuer: ISSUER,
        audience: 'wiki',
      });
      const { sub, email, email_verified, name, groups, amr, nonce } = payload;
      assert.deepEqual(
        { sub, email, email_verified, name, groups, amr, nonce },
        {
          sub: 'ua_ana',
          email: 'ua_ana@example.com',
          email_verified: true,
          name: 'ua_ana',
          groups: ['ops'],
          amr: ['pop'],
          nonce: 'a-nonce',
        },
      );
      const headers = { authorization: `Bearer ${body.access_token}` };
      const userinfo = await (await world.fetch(`${ISSUER}/userinfo`, { headers })).json();
      assert.equal((userinfo as { email?: string }).email, 'ua_ana@example.com');
      assert.deepEqual(world.problems, []);
    });

    test('binds each ID token to the access token that comes with it, also after a refresh', async (t) => {
      const { world } = await opened(t, engine);
      const { url, verifier } = await askedLogin();
      const code = (await world.browser().logIn(url, 'ua_ana')).searchParams.get('code') ?? '';
      const first = (await redeem(world, code, verifier)).body;
      const refresh = { grant_type: 'refresh_token', refresh_token: first.refresh_token };
      const second = (await redeem(world, '', '', refresh)).body;
      assert.notEqual(second.access_token, first.access_token);
      for (const { id_token: token, access_token: access } of [first, second]) {
        // OpenID Connect Core §3.1.3.6: the left half of the hash that the signature uses.
        const half = Buffer.from(hash('sha256', access, 'hex'), 'hex')
          .subarray(0, 16)
          .toString('base64url');
        assert.equal(decodeJwt(token)['at_hash'], half);
      }
    });

    test('gives tokens for a code once, to one of two processes that redeem it at the same time', async (t) => {
      const { location, world, clock } = await opened(t, engine);
      const other = engine === 'postgres' ? await ProviderWorld.open(t, await openAt(location)) : world;
      const { url, verifier } = await askedLogin();
      const code = (await world.browser().logIn(url, 'ua_ana')).searchParams.get('code') ?? '';
      const answers = await Promise.all([world, other, world, other].map((each) => redeem(each, code, verifier)));
      assert.deepEqual(
        answers.map(({ status }) => status).sort((a, b) => a - b),
        [200, 400, 400, 400],
      );
      const won = answers.find(({ status }) => status === 200)?.body.access_token;
      const headers = { authorization: `Bearer ${won}` };
      const asked = async (): Promise<number> => (await world.fetch(`${ISSUER}/userinfo`, { headers })).status;
      assert.equal(await asked(), 200);
      // RFC 6749 §4.1.2: a code that is used again later may have been stolen, and with it what it was good for.
      clock.atMs = Date.now() + 20_000;
      assert.equal((await redeem(world, code, verifier)).status, 400);
      assert.equal(await asked(), 401);
    });

    test('ends a session, its codes and its tokens with the person', async (t) => {
      const { world, rows } = await opened(t, engine);
      const browser = world.browser();
      const first = await askedLogin();
      const code = (await browser.logIn(first.url, 'ua_ana')).searchParams.get('code') ?? '';
      const { body } = await redeem(world, code, first.verifier);
      const second = await askedLogin();
      const unused = (await browser.logIn(second.url, 'nobody: the session is enough')).searchParams.get('code') ?? '';
      const result = await world.store.commit({ endsPeople: [{ issuer: ISSUER, accountId: 'ua_ana' }] });
      assert.equal(result.ok, true);
      assert.equal(await rows(), 0);
      assert.equal((await redeem(world, unused, second.verifier)).status, 400);
      const authorization = `Bearer ${body.access_token}`;
      assert.equal((await world.fetch(`${ISSUER}/userinfo`, { headers: { authorization } })).status, 401);
      const refresh = { grant_type: 'refresh_token', refresh_token: body.refresh_token };
      assert.equal((await redeem(world, '', '', refresh)).status, 400);
      assert.equal((await browser.ask((await askedLogin()).url)).location?.pathname, '/sign-in');
    });
  });
}

test('stores nothing about visitors who prove nothing, however many they are', async (t) => {
  const { world, rows } = await opened(t);
  const revision = await world.store.currentRevision();
  for (let visit = 0; visit < 30; visit += 1) {
    const browser = world.browser();
    const { location } = await browser.ask((await askedLogin({ state: `s${visit}` })).url);
    assert.equal(location?.pathname, '/sign-in');
    await browser.ask('/session/end');
    await browser.ask('/auth/unknown');
    await browser.ask('/token', { form: 'grant_type=authorization_code&code=x' });
  }
  assert.deepEqual([await rows(), await world.store.currentRevision()], [0, revision]);
});

test('keeps few waiting requests in a browser, and the newest of them work', async (t) => {
  const { world } = await opened(t);
  const browser = world.browser();
  const waiting: URL[] = [];
  for (let tab = 0; tab < 9; tab += 1) {
    const { location } = await browser.ask((await askedLogin({ state: `tab-${tab}` })).url);
    if (location !== null) waiting.push(location);
  }
  const kept = browser.jar
    .cookiesFor(`${ISSUER}/`)
    .filter(({ name }) => name.startsWith('__Host-postern-interaction-'));
  assert.equal(kept.length, 4);
  const last = waiting.at(-1) as URL;
  const back = await browser.ask(`/sign-in/test${last.search}`, { form: 'ua_ana' });
  const { location } = await browser.ask(back.location as URL);
  assert.equal(location?.searchParams.get('state'), 'tab-8');
});

suite('attacks', { concurrency: 2 }, () => {
  const forged: readonly (readonly [string, readonly string[]])[] = [
    ['Host', ['host', 'evil.example']],
    ['X-Forwarded-Host', ['x-forwarded-host', 'evil.example']],
    ['X-Forwarded-Proto', ['x-forwarded-proto', 'http']],
    ['X-Forwarded-For', ['x-forwarded-for', '10.0.0.1']],
    ['Forwarded', ['forwarded', 'host=evil.example;proto=http']],
    ['X-Forwarded-Port', ['x-forwarded-port', '81']],
  ];
  test('forged headers change no address', async (t) => {
    const { world } = await opened(t);
    for (const [name, headers] of forged) {
      const { text } = await world.browser().ask('/.well-known/openid-configuration', { headers });
      for (const [field, value] of Object.entries(JSON.parse(text))) {
        if (field.endsWith('_endpoint') || field === 'jwks_uri' || field === 'issuer')
          assert.ok(String(value).startsWith(ISSUER), `${name}: ${field}: ${String(value)}`);
      }
      const { location } = await world.browser().ask((await askedLogin()).url, { headers });
      assert.equal(location?.host, HOST, name);
    }
  });

  const uris = [
    `${REDIRECT_URI}/`,
    `${REDIRECT_URI}?x=1`,
    `${REDIRECT_URI}#x`,
    REDIRECT_URI.replace('https:', 'http:'),
    REDIRECT_URI.replace('wiki.', 'WIKI.'),
    REDIRECT_URI.replace('example.com', 'example.com:443'),
    REDIRECT_URI.replace('https://', 'https://user@'),
    'https://wiki.example.com.evil.example/callback',
    'https://evil.example/callback',
    'javascript:alert(1)',
    '',
  ];
  test('redirect URIs that are not exactly registered are refused, and nobody is sent there', async (t) => {
    const { world } = await opened(t);
    const browser = world.browser();
    await browser.logIn((await askedLogin()).url, 'ua_ana');
    for (const uri of uris) {
      const { status, location } = await browser.ask((await askedLogin({ redirect_uri: uri })).url);
      assert.deepEqual([status, location], [400, null], uri);
    }
  });

  test('two redirect URIs in one request are refused', async (t) => {
    const { world } = await opened(t);
    const { url } = await askedLogin();
    url.search += `&redirect_uri=${encodeURIComponent('https://evil.example/')}`;
    const { status, location } = await world.browser().ask(url);
    assert.deepEqual([status, location], [400, null]);
  });

  test('a code is worth nothing with another address, secret or verifier', async (t) => {
    const { world } = await opened(t);
    const browser = world.browser();
    const hash = String(client('wiki').metadata.client_secret);
    for (const [given, secret] of [
      [{ redirect_uri: 'https://wiki.example.com/other' }, undefined],
      [{ code_verifier: 'x'.repeat(43) }, undefined],
      [{}, 'wrong'],
      [{}, hash],
    ] as const) {
      const { url, verifier } = await askedLogin();
      const code = (await browser.logIn(url, 'ua_ana')).searchParams.get('code') ?? '';
      const { status, body } = await redeem(world, code, verifier, given, secret);
      assert.ok(status === 400 || status === 401, `${status} ${JSON.stringify(body)}`);
      assert.equal(body.access_token, undefined);
    }
  });

  test('a request without PKCE is refused', async (t) => {
    const { world } = await opened(t);
    const { url } = await askedLogin();
    url.searchParams.delete('code_challenge');
    url.searchParams.delete('code_challenge_method');
    const back = await world.browser().logIn(url, 'ua_ana');
    assert.deepEqual([back.searchParams.get('error'), back.searchParams.get('code')], ['invalid_request', null]);
  });

  test('a session id that the visitor chose is not used, and logging in gives another one', async (t) => {
    const { world } = await opened(t);
    const planted = world.browser();
    planted.jar.store(ISSUER, ['__Host-postern-identity=planted; Path=/; Secure']);
    await planted.logIn((await askedLogin()).url, 'ua_ana');
    assert.notEqual(planted.jar.get(ISSUER, '__Host-postern-identity')?.value, 'planted');
    const before = planted.jar.copy();
    await planted.ask('/sign-in/test', { form: 'ua_ana' });
    const thief = new TestBrowser(world.site, before);
    assert.equal((await thief.ask((await askedLogin()).url)).location?.pathname, '/sign-in');
  });

  test('stolen cookies are worth nothing after a logout, neither those of a session nor of a waiting request', async (t) => {
    const { world } = await opened(t);
    const browser = world.browser();
    const { location } = await browser.ask((await askedLogin()).url);
    const proven = await browser.ask(`/sign-in/test${location?.search}`, { form: 'ua_ana' });
    const stolen = new TestBrowser(world.site, browser.jar.copy());
    await browser.ask(proven.location as URL);
    await world.sessions.logOut(requestWith(browser));
    for (const url of [proven.location as URL, (await askedLogin()).url]) {
      const answer = await stolen.ask(url);
      assert.ok(answer.location === null || answer.location.pathname === '/sign-in', answer.location?.href ?? '');
    }
  });

  test('a sealed request of one browser is worth nothing under another id', async (t) => {
    const { world } = await opened(t);
    const browser = world.browser();
    const one = (await browser.ask((await askedLogin()).url)).location?.searchParams.get('interaction') ?? '';
    const value = browser.jar.get(ISSUER, `__Host-postern-interaction-${one}`)?.value ?? '';
    const other = world.browser();
    other.jar.store(ISSUER, [
      `__Host-postern-interaction-other; Path=/; Secure`,
      `__Host-postern-interaction-other=${value}; Path=/; Secure`,
    ]);
    const answer = await other.ask('/sign-in/test?interaction=other', { form: 'ua_ana' });
    assert.equal(answer.location?.pathname, '/account');
  });

  test('a person who may not log in to an application is refused there, also with a session', async (t) => {
    const { world } = await opened(t);
    const browser = world.browser();
    await browser.logIn((await askedLogin()).url, 'ua_ana');
    world.clients.set('wiki', client('wiki', { admits: (groups) => groups.includes('admins') }));
    const back = await browser.logIn((await askedLogin()).url, 'ua_ana');
    assert.equal(back.searchParams.get('error'), 'access_denied');
  });

  test('a target with two slashes is no host', async (t) => {
    const { world } = await opened(t);
    const answer = await world.site.serve({
      id: 'rq_1',
      method: 'GET',
      path: '//evil.example/.well-known/openid-configuration',
      target: '//evil.example/.well-known/openid-configuration',
      headers: [],
      body: Buffer.alloc(0),
      clientAddress: '192.0.2.1',
    });
    assert.equal(answer.status, 404);
  });
});

test('asks for a new proof where an application wants one', async (t) => {
  const { world } = await opened(t);
  const browser = world.browser();
  await browser.logIn((await askedLogin()).url, 'ua_ana');
  assert.equal((await browser.ask((await askedLogin()).url)).location?.origin, 'https://wiki.example.com');
  for (const params of [{ prompt: 'login' }, { prompt: 'consent' }, { prompt: 'login consent' }, { max_age: '0' }]) {
    const asked = await askedLogin(params as Record<string, string>);
    const { location } = await browser.ask(asked.url);
    assert.equal(location?.pathname, '/sign-in', JSON.stringify(params));
    const waiting = await world.sessions.interactionOf(requestWith(browser, location?.search));
    assert.deepEqual([waiting?.application, waiting?.mustProveAgain], ['Wiki', true]);
    const back = await browser.logIn(asked.url, 'ua_ana');
    assert.notEqual(back.searchParams.get('code'), null, back.href);
  }
  const none = await browser.ask((await askedLogin({ prompt: 'none' })).url);
  assert.notEqual(none.location?.searchParams.get('code'), null);
  const stranger = await world.browser().ask((await askedLogin({ prompt: 'none' })).url);
  assert.equal(stranger.location?.searchParams.get('error'), 'login_required');
});

test('another person who logs in ends the session before, and its grants', async (t) => {
  const { world } = await opened(t);
  await world.person('ua_ben');
  const browser = world.browser();
  const { url, verifier } = await askedLogin();
  const code = (await browser.logIn(url, 'ua_ana')).searchParams.get('code') ?? '';
  await browser.ask('/sign-in/test', { form: 'ua_ben' });
  assert.deepEqual(await world.sessions.list('ua_ana'), []);
  assert.equal((await world.sessions.of(requestWith(browser)))?.accountId, 'ua_ben');
  assert.equal((await redeem(world, code, verifier)).status, 400);
});

test('shows the sessions of a person with their applications, and ends one of them', async (t) => {
  const { world } = await opened(t);
  const [one, other] = [world.browser(), world.browser()];
  await one.logIn((await askedLogin()).url, 'ua_ana');
  await other.ask('/sign-in/test', { form: 'ua_ana' });
  const sessions = await world.sessions.list('ua_ana');
  assert.deepEqual(sessions.map(({ applications }) => applications.map(({ name }) => name).join()).toSorted(), [
    '',
    'Wiki',
  ]);
  const id = (await world.sessions.of(requestWith(one)))?.id ?? '';
  assert.equal(await world.sessions.end('ua_ben', id), false);
  assert.equal(await world.sessions.end('ua_ana', id), true);
  assert.equal(await world.sessions.of(requestWith(one)), null);
  assert.notEqual(await world.sessions.of(requestWith(other)), null);
});

test('a logout that an application asks for ends the session after a question', async (t) => {
  const { world, rows } = await opened(t);
  const browser = world.browser();
  const { url, verifier } = await askedLogin();
  const code = (await browser.logIn(url, 'ua_ana')).searchParams.get('code') ?? '';
  const { body } = await redeem(world, code, verifier);
  const query = new URLSearchParams({
    id_token_hint: body.id_token,
    post_logout_redirect_uri: 'https://wiki.example.com/bye',
  });
  for (const isOver of [false, true]) {
    const page = await browser.ask(`/session/end?${query.toString()}`);
    assert.equal(page.status, 200);
    const xsrf = /name="xsrf" value="([^"]+)"/.exec(page.text)?.[1] ?? '';
    assert.equal((await browser.ask('/session/end/confirm', { form: 'xsrf=wrong&logout=yes' })).status, 400);
    const { location } = await browser.ask('/session/end/confirm', { form: `xsrf=${xsrf}&logout=yes` });
    assert.equal(location?.href, 'https://wiki.example.com/bye', isOver ? 'without a session' : 'with one');
    assert.equal(await rows(), 0);
  }
});

test('pages of the provider allow no frame and no foreign script', async (t) => {
  const { world } = await opened(t);
  const browser = world.browser();
  await browser.logIn((await askedLogin()).url, 'ua_ana');
  for (const path of ['/auth', '/session/end', '/auth/unknown']) {
    const { headers } = await browser.ask(path);
    const [policy = ''] = valuesOf(headers, 'content-security-policy');
    assert.match(policy, /default-src 'none'.*frame-ancestors 'none'/);
    assert.doesNotMatch(policy, /unsafe/);
  }
});

test('a new key is announced for a day before it signs, and the old one stays as long as its tokens', async (t) => {
  const location = await emptyLocation(t, 'sqlite');
  const clock = { atMs: Date.now(), nowMs: () => clock.atMs };
  const world = await ProviderWorld.open(t, await openAt(location), clock);
  const kids = (): string[] => world.keys.current().jwks.map(({ kid = '' }) => kid);
  const [first] = kids();
  const day = 86_400_000;
  clock.atMs += 88 * day;
  await world.keys.rotate();
  assert.deepEqual(kids(), [first]);
  clock.atMs += day;
  await world.keys.rotate();
  const [signing, announced] = kids();
  assert.equal(signing, first);
  clock.atMs += day;
  await world.keys.rotate();
  assert.deepEqual(kids(), [announced, first]);
  clock.atMs += 2.5 * day;
  await world.keys.rotate();
  assert.deepEqual(kids(), [announced]);
});

function requestWith(browser: TestBrowser, search = '') {
  return {
    id: 'rq_1',
    method: 'GET',
    path: '/account',
    target: `/account${search}`,
    headers: ['cookie', browser.jar.header(`${ISSUER}/account`) ?? ''],
    body: Buffer.alloc(0),
    clientAddress: '192.0.2.1',
  };
}
