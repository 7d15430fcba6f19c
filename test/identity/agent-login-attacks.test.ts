import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { AgentWorld, assertAsked, decide, hostOf, type Page, submitDecision } from './agent-world.ts';
import { HostBrowser, IDENTITY_ISSUER } from './without-proof.ts';

const world = await AgentWorld.open({ after });
const credential = await world.credential();
const agent = await world.agent(credential.token, { domain: 'mine.localhost' });
const host = hostOf(agent);

let people = 0;
function newPerson(): Promise<string> {
  people += 1;
  return world.identity.account(`person-${people}@example.com`);
}

/** A browser at the page that names host and agent. */
async function asked(at = host): Promise<{ readonly browser: HostBrowser; readonly page: Page }> {
  const browser = new HostBrowser(world.identity.edge);
  const page = await browser.open(`https://${at}/`, await newPerson());
  assertAsked(page, at, at === host ? credential : { id: 'cr_' });
  return { browser, page };
}

/** The request that the login of a host makes at the identity host. */
async function authorization(browser: HostBrowser, at: string): Promise<URL> {
  const start = await browser.ask(`https://${at}/.postern/login?to=/&go=1`);
  return new URL(String(start.headers['location']));
}

suite('the page that names an agent cannot be skipped', () => {
  for (const [name, change] of [
    ['without a question', (params: URLSearchParams) => params.set('prompt', 'none')],
    ['with less scopes', (params: URLSearchParams) => params.set('scope', 'openid')],
    [
      'without OpenID',
      (params: URLSearchParams) => {
        params.set('scope', 'email');
        params.delete('nonce');
      },
    ],
    ['with claims instead of scopes', (params: URLSearchParams) => params.set('claims', '{"id_token":{"email":null}}')],
    ['as if consent had been asked for', (params: URLSearchParams) => params.set('prompt', 'consent')],
    ['with another age', (params: URLSearchParams) => params.set('max_age', '100000')],
  ] as const) {
    test(name, async () => {
      const { browser } = await asked();
      const url = await authorization(browser, host);
      change(url.searchParams);
      const answer = await browser.ask(url);
      const location = String(answer.headers['location']);
      assert.ok(!location.includes('code='), location);
      assert.match(location, name === 'without a question' ? /error=consent_required/ : /^\/consent\?/);
    });
  }

  test('by going on without a decision', async () => {
    const { browser, page } = await asked();
    const resumed = await browser.open(`${IDENTITY_ISSUER}/auth/${page.url.searchParams.get('interaction')}`, null);
    assertAsked(resumed, host, credential);
  });

  test('by logging in once more with the request that waits for the decision', async () => {
    const { browser, page } = await asked();
    const person = await newPerson();
    const logIn = new URL(`/sign-in/test${page.url.search}`, page.url);
    const { headers } = await browser.ask(logIn, { method: 'POST', body: person });
    assertAsked(await browser.open(new URL(String(headers['location']), page.url), null), host, credential);
  });

  test('by a form of another site, or of another browser', async () => {
    const { browser, page } = await asked();
    for (const headers of [
      { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
      { origin: `https://${host}`, 'sec-fetch-site': 'same-site' },
      { origin: 'null', 'sec-fetch-site': 'cross-site' },
    ]) {
      assert.equal((await submitDecision(browser, page.url, { headers })).status, 403);
    }
    const stranger = new HostBrowser(world.identity.edge);
    const { page: theirs } = await asked();
    assert.equal((await submitDecision(stranger, page.url)).status, 400);
    assert.equal((await submitDecision(browser, theirs.url)).status, 400);
    assertAsked(await browser.open(`https://${host}/`, null), host, credential);
  });

  test('by the decision of somebody who used the browser before', async () => {
    const { browser, page } = await asked();
    const person = await newPerson();
    await browser.ask(`${IDENTITY_ISSUER}/sign-in/test`, { method: 'POST', body: person });
    assert.equal((await browser.ask(page.url)).status, 400);
    assert.equal((await submitDecision(browser, page.url)).status, 400);
    assertAsked(await browser.open(`https://${host}/`, null), host, credential);
  });

  test('with a request that waits for a sign-in', async () => {
    const browser = new HostBrowser(world.identity.edge);
    const url = await authorization(browser, host);
    const { headers } = await browser.ask(url);
    const waiting = new URL(String(headers['location']), url);
    assert.equal(waiting.pathname, '/sign-in');
    waiting.pathname = '/consent';
    assert.equal((await browser.ask(waiting)).status, 400);
    await browser.ask(`${IDENTITY_ISSUER}/sign-in/test`, { method: 'POST', body: await newPerson() });
    assert.equal((await submitDecision(browser, waiting)).status, 400);
  });
});

suite('an agent', () => {
  test('that takes a host while somebody reads the page gets nothing from their decision', async () => {
    const [first, second] = [await world.credential(), await world.credential()];
    const taken = 'taken.localhost';
    const before = await world.agent(first.token, { domain: taken });
    const { browser, page } = await asked(taken);
    await before.close();
    const thief = await world.agent(second.token, { domain: taken });
    assert.equal((await submitDecision(browser, page.url)).status, 400);
    assertAsked(await browser.open(`https://${taken}/`, null), taken, second);
    await thief.close();
  });

  test('does not get a login that began at the agent before it', async () => {
    const [first, second] = [await world.credential(), await world.credential()];
    const taken = 'later.localhost';
    const before = await world.agent(first.token, { domain: taken });
    const { browser, page } = await asked(taken);
    const { headers } = await submitDecision(browser, page.url);
    const back = await browser.ask(new URL(String(headers['location']), page.url));
    const callback = String(back.headers['location']);
    assert.ok(callback.startsWith(`https://${taken}/.postern/callback?code=`), callback);
    await before.close();
    const thief = await world.agent(second.token, { domain: taken });
    const answer = await browser.ask(callback);
    assert.notEqual(answer.status, 200);
    assertAsked(await browser.open(`https://${taken}/`, null), taken, second);
    await thief.close();
  });

  test("cannot use another agent's or an edge's client, nor return to their hosts", async () => {
    const site = await world.identity.site();
    const other = await world.agent((await world.credential()).token, { domain: 'theirs.localhost' });
    const { browser, page } = await asked();
    await decide(browser, page);
    const client = async (at: string) => (await authorization(new HostBrowser(world.identity.edge), at)).searchParams;
    const [own, ofEdge, ofOther] = [await client(host), await client(site.host), await client('theirs.localhost')];
    const hosts = [host, site.host, 'theirs.localhost', 'evil.localhost', 'id.localhost'];
    for (const params of [own, ofEdge, ofOther]) {
      const wanted = params.get('redirect_uri') ?? '';
      for (const each of hosts) {
        const uri = `https://${each}/.postern/callback`;
        if (uri === wanted || each === 'id.localhost') continue;
        params.set('redirect_uri', uri);
        const answer = await browser.ask(`${IDENTITY_ISSUER}/auth?${params.toString()}`);
        assert.deepEqual([answer.status, answer.headers['location']], [400, undefined], `${wanted} to ${uri}`);
      }
    }
    await other.close();
  });

  test("cannot name an edge's client or the console's as its own", async () => {
    const site = await world.identity.site();
    for (const clientId of [site.edgeId, 'postern-console']) {
      const modules = { oidc: { issuer: IDENTITY_ISSUER, client_id: clientId, client_secret: 'x' } };
      const named = await world.agent(credential.token, { domain: 'named.localhost', modules });
      const browser = new HostBrowser(world.identity.edge);
      const answer = await browser.ask(await authorization(browser, 'named.localhost'));
      assert.deepEqual([answer.status, answer.headers['location']], [400, undefined], clientId);
      await named.close();
    }
  });

  test('is no longer a client once it is gone', async () => {
    const short = await world.agent(credential.token, { domain: 'short.localhost' });
    const browser = new HostBrowser(world.identity.edge);
    const url = await authorization(browser, 'short.localhost');
    await short.close();
    assert.equal((await browser.ask(url)).status, 400);
  });
});
