import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { decodeJwt, type JWTPayload } from 'jose';
import { calculatePKCECodeChallenge, randomPKCECodeVerifier } from 'openid-client';
import type { EdgeAnswer } from '../support/edge-clients.ts';
import { Http2Clients } from '../support/http2-clients.ts';
import {
  IDENTITY_HOST,
  IDENTITY_ORIGIN,
  IdentityBrowser,
  IdentityWorld,
  type Person,
} from '../support/identity-world.ts';
import { SoftAuthenticator } from '../support/soft-authenticator.ts';
import { HostBrowser } from './without-proof.ts';

const CALLBACK = 'https://wiki.example.com/callback';
const world = await IdentityWorld.open({ after });
const clients = new Http2Clients(world.edge);
const wiki = await world.edge.api('POST', '/oidc_clients', {
  name: 'Wiki',
  redirect_uris: [CALLBACK],
  allow_groups: ['*'],
});

/** A browser that speaks HTTP/2 alone, at the identity host and at sites. */
class OnlyHttp2 {
  readonly pages = new IdentityBrowser({ edge: clients, origin: IDENTITY_ORIGIN });
  readonly sites = new HostBrowser(clients, this.pages.jar);

  /** Follows redirects to a page, to a question for a passkey, or to the application. */
  async follow(url: URL): Promise<EdgeAnswer & { readonly url: URL }> {
    let next = url;
    for (let step = 0; step < 15; step += 1) {
      if (`${next.origin}${next.pathname}` === CALLBACK)
        return { status: 0, headers: {}, body: NONE, text: '', url: next };
      const answer = await this.sites.ask(next);
      const go = /<a class="button" id="go" href="([^"]+)"/.exec(answer.text)?.[1]?.replaceAll('&amp;', '&');
      const location = go ?? (answer.headers['location'] as string | undefined);
      if (location === undefined) return { ...answer, url: next };
      next = new URL(location, next);
    }
    throw new Error(`the redirects do not end: ${next.href}`);
  }

  /** Logs in on the page that a login led to, and goes on from there. */
  async prove(page: { readonly url: URL }, device: SoftAuthenticator): Promise<EdgeAnswer & { readonly url: URL }> {
    assert.deepEqual([page.url.hostname, page.url.pathname], [IDENTITY_HOST, '/sign-in'], page.url.href);
    const answer = await this.pages.logIn(device, page.url.search);
    assert.equal(answer.status, 303, answer.text);
    return this.follow(new URL(String(answer.headers['location']), page.url));
  }
}

const NONE = Buffer.alloc(0);

async function invited(email: string): Promise<Pick<Person, 'id'> & { readonly device: SoftAuthenticator }> {
  const { id, url } = await world.invite(email);
  const device = new SoftAuthenticator(IDENTITY_ORIGIN);
  assert.equal((await new OnlyHttp2().pages.accept(url, device)).status, 303);
  return { id, device };
}

interface AskedLogin {
  readonly url: URL;
  /** Claims of the ID token that the application gets at its callback. */
  claims(callback: URL): Promise<JWTPayload>;
}

/** The application's request for a login. */
async function asked(parameters: Readonly<Record<string, string>> = {}): Promise<AskedLogin> {
  const verifier = randomPKCECodeVerifier();
  const url = new URL(`${IDENTITY_ORIGIN}/auth`);
  url.search = new URLSearchParams({
    ...{ client_id: wiki.client_id, redirect_uri: CALLBACK, response_type: 'code', scope: 'openid email' },
    ...{ code_challenge: await calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256', state: 's' },
    ...parameters,
  }).toString();
  return {
    url,
    claims: async (callback) => {
      const code = callback.searchParams.get('code') ?? assert.fail(callback.href);
      const basic = Buffer.from(`${wiki.client_id}:${wiki.client_secret}`).toString('base64');
      const body = { grant_type: 'authorization_code', code, redirect_uri: CALLBACK, code_verifier: verifier };
      const answer = await clients.ask(IDENTITY_HOST, '/token', {
        method: 'POST',
        body: new URLSearchParams(body).toString(),
        headers: { authorization: `Basic ${basic}`, 'content-type': 'application/x-www-form-urlencoded' },
      });
      assert.equal(answer.status, 200, answer.text);
      return decodeJwt(JSON.parse(answer.text).id_token);
    },
  };
}

test('a client that speaks HTTP/2 alone registers a passkey, logs in to a route, and leaves it', async () => {
  const site = await world.edge.site(await world.edge.httpResponse('the shop'));
  await world.edge.api('PUT', `${site.routePath}/oidc`, { issuer: IDENTITY_ORIGIN });
  const { device } = await invited('ana@example.com');
  const browser = new OnlyHttp2();
  const url = new URL(`https://${site.host}/cart?x=1`);
  const page = await browser.prove(await browser.follow(url), device);
  assert.deepEqual([page.status, page.text, page.url.href], [200, 'the shop', url.href]);
  assert.equal((await browser.sites.ask(url)).status, 200);
  assert.equal((await browser.pages.submit('/account/sign-out')).status, 303);
  assert.equal((await browser.sites.ask(url)).status, 302);
});

suite('an application that asks for a new proof', async () => {
  const [ana, ben] = [await invited('ana-2@example.com'), await invited('ben-2@example.com')];
  const browser = new OnlyHttp2();
  const first = await asked();
  const loggedIn = await browser.prove(await browser.follow(first.url), ana.device);
  const before = await first.claims(loggedIn.url);
  // Times of tokens are whole seconds.
  await sleep(2_100);

  test('is satisfied by the session otherwise', async () => {
    for (const parameters of [{}, { max_age: '100000' }] as const) {
      const login = await asked(parameters);
      const claims = await login.claims((await browser.follow(login.url)).url);
      assert.deepEqual([claims.sub, claims['auth_time']], [ana.id, before['auth_time']]);
    }
  });

  for (const parameters of [{ prompt: 'login' }, { max_age: '1' }, { max_age: '0' }] as const) {
    test(`with ${JSON.stringify(parameters)} gets one, and nothing without it`, async () => {
      const login = await asked(parameters);
      const page = await browser.follow(login.url);
      assert.match(page.text, /Log in again to continue to <strong>Wiki/);
      // Neither going on nor opening the page again stands for a proof.
      const resumed = await browser.follow(new URL(`/auth/${page.url.searchParams.get('interaction')}`, page.url));
      assert.equal(resumed.url.pathname, '/sign-in');
      const atMs = Date.now();
      const claims = await login.claims((await browser.prove(resumed, ana.device)).url);
      assert.equal(claims.sub, ana.id);
      assert.ok((claims['auth_time'] as number) >= Math.floor(atMs / 1000), JSON.stringify(claims));
      assert.deepEqual(claims['amr'], ['pop']);
      await sleep(2_100);
    });
  }

  test('gets the person who proves it: the session of the other one ends', async () => {
    const login = await asked({ prompt: 'login' });
    const claims = await login.claims((await browser.prove(await browser.follow(login.url), ben.device)).url);
    assert.equal(claims.sub, ben.id);
    assert.match((await browser.pages.open('/account')).text, /ben-2@example\.com/);
  });

  test('gets an error without a question', async () => {
    const stale = await asked({ prompt: 'none', max_age: '1' });
    await sleep(2_100);
    const { url } = await browser.follow(stale.url);
    assert.deepEqual([url.searchParams.get('error'), url.searchParams.get('code')], ['login_required', null]);
  });
});
