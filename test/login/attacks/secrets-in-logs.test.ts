import assert from 'node:assert/strict';
import { test } from 'node:test';
import { denyLogIn, logIn } from '../../support/identity-provider.ts';
import { CLIENT_SECRET, LoginWorld } from '../../support/login-world.ts';
import { COMPANION, change, cookieOf, routeOf, SESSION } from '../flow/steps.ts';

test('after all kinds of flows neither log nor metrics contain a token, code, key, state or secret', async (t) => {
  const world = await LoginWorld.open(t, {
    env: { POSTERN_LOG_LEVEL: 'debug' },
    provider: { refreshTokens: 'always', accessTokenTtlS: 60 },
  });
  const site = await world.site();
  await routeOf(world, site, '/other', { client_id: 'other' });
  const { host } = site;
  const secrets = new Map<string, string>([['client secret', CLIENT_SECRET]]);
  const browser = world.browser();
  const note = (name: string, value: string | null | undefined): void => {
    assert.ok(value !== null && value !== undefined && value.length >= 16, `there is a ${name} to look for: ${value}`);
    secrets.set(`${name} ${secrets.size}`, value);
  };
  const noteBrowser = (): void => {
    for (const { name, value } of browser.jar.cookiesFor(`${world.origin(host)}/`)) {
      if (!name.includes('trail')) note(name, value);
    }
  };

  // A login, step by step, with a secret in the requested address.
  const { url } = await browser.upToProvider(host, '/?token=secret-in-a-query-0123456789');
  note('query', 'secret-in-a-query-0123456789');
  for (const name of ['state', 'nonce', 'code_challenge']) note(name, url?.searchParams.get(name));
  noteBrowser();
  const callback = await logIn(world.provider, url as URL, 'alice', browser.jar);
  note('code', callback.searchParams.get('code'));
  await browser.open(host, `${callback.pathname}${callback.search}`);
  noteBrowser();
  note('key', cookieOf(world, browser, host, SESSION).split('.')[2]);
  note('companion MAC', cookieOf(world, browser, host, COMPANION).split('.')[3]);
  const seen = JSON.parse((await browser.open(host, '/')).text);
  note('assertion', seen.headers['postern-auth-assertion']);
  note('claims', seen.headers['postern-auth-claims']);

  // The code again, a refresh, another client, an old key, a wrong secret, a denial, an unreachable provider, a logout.
  await browser.open(host, `${callback.pathname}${callback.search}`);
  await world.browser().open(host, `${callback.pathname}${callback.search}`);
  world.clock.advance(120);
  assert.equal((await browser.open(host, '/')).status, 200);
  await browser.logIn(host, '/other');
  noteBrowser();
  await change(world, site, { client_secret: 'a-wrong-secret-0123456789' });
  note('wrong secret', 'a-wrong-secret-0123456789');
  assert.equal((await world.browser().logIn(host)).status, 502);
  await change(world, site, {});
  const denied = world.browser();
  const way = await denied.upToProvider(host);
  const no = await denyLogIn(world.provider, way.url as URL, denied.jar);
  assert.equal((await denied.open(host, `${no.pathname}${no.search}`)).status, 403);
  await browser.ask(host, '/.postern/backchannel-logout', {
    method: 'POST',
    body: 'logout_token=eyJhbGciOiJub25lIn0.eyJpc3MiOiJ4In0.secret-signature-0123456789',
  });
  note('logout token', 'secret-signature-0123456789');
  const out = await browser.ask(host, '/.postern/logout', { method: 'POST' });
  const hint = new URL(JSON.parse(out.text).end_session_url).searchParams.get('id_token_hint');
  note('ID token', hint);
  note('signature', hint?.split('.')[2]);
  const late = world.browser();
  const back = await logIn(world.provider, (await late.upToProvider(host)).url as URL, 'bob', late.jar);
  await world.provider.stop();
  assert.equal((await late.open(host, `${back.pathname}${back.search}`)).status, 502);
  note('code', back.searchParams.get('code'));

  const lines = world.edge.world.logLines.join('\n');
  assert.match(lines, /a login failed/, 'the log tells of what went wrong');
  const metrics = await world.edge.metrics();
  assert.match(metrics, /login/, 'the metrics tell of logins');
  for (const [name, secret] of secrets) {
    assert.ok(!lines.includes(secret), `the log holds the ${name}`);
    assert.ok(!metrics.includes(secret), `the metrics hold the ${name}`);
  }
  assert.doesNotMatch(lines, /pstn1\.|eyJ[A-Za-z0-9_-]{10}/);
});
