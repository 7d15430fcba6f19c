import assert from 'node:assert/strict';
import type { Agent } from 'node:https';
import { after, afterEach, suite, test } from 'node:test';
import type { EdgeWorkers } from '../../src/app/main/workers/edge-workers.ts';
import { until } from '../../src/kit/async/waiting.ts';
import { OauthWorld } from '../login/oauth/oauth-world.ts';
import type { Site } from '../support/edge-world.ts';
import { type Browser, LoginWorld } from '../support/login-world.ts';

const WORKERS = 2;
const PER_MINUTE = 6;
const WITHIN_MS = 30_000;

const world = await LoginWorld.open(
  { after },
  {
    env: {
      POSTERN_WORKERS: String(WORKERS),
      POSTERN_LOGIN_ATTEMPTS_PER_ADDRESS: String(PER_MINUTE),
      POSTERN_PASSWORD_ATTEMPTS_PER_ADDRESS: String(PER_MINUTE),
    },
  },
);
afterEach(() => world.clock.reset());

/** One connection to each worker, kept open: a new one goes to the worker with the fewest. */
async function agentOfEach(site: Site, { edge } = world): Promise<readonly Agent[]> {
  const workers = edge.world.server.workers as EdgeWorkers;
  // Connections that close still count.
  assert(await until(() => workers.connectionCounts.every((count) => count === 0), WITHIN_MS));
  const agents = Array.from({ length: WORKERS }, () => edge.agent({ rejectUnauthorized: false }));
  for (const agent of agents) await edge.ask(site.host, '/.postern/none', { agent });
  assert.deepEqual(workers.connectionCounts, Array(WORKERS).fill(1));
  return agents;
}

suite('logins with several workers', () => {
  test('a user is logged in at all of them, and logged out at all of them', async () => {
    const site = await world.site();
    const agents = await agentOfEach(site);
    const browser = world.browser();
    await browser.logIn(site.host);
    for (const agent of agents) assert.equal((await browser.open(site.host, '/', { agent })).status, 200);
    const { application_sessions: sessions } = await world.edge.api('GET', '/app/sessions');
    for (const { id } of sessions) await world.edge.api('DELETE', `/app/sessions/${id}`);
    for (const agent of agents) assert.equal((await browser.open(site.host, '/', { agent })).status, 302);
    for (const agent of agents) agent.destroy();
  });

  test('a user who is active at one of them is not idle at another', async () => {
    const site = await world.site({ inactivity_timeout: 100 });
    const [here, there] = (await agentOfEach(site)) as [Agent, Agent];
    const browser = world.browser();
    await browser.logIn(site.host);
    assert.equal((await browser.open(site.host, '/', { agent: there })).status, 200);
    world.clock.advance(60);
    assert.equal((await browser.open(site.host, '/', { agent: here })).status, 200);
    world.clock.advance(60);
    assert.equal((await browser.open(site.host, '/', { agent: there })).status, 200);
    world.clock.advance(101);
    for (const agent of [here, there]) {
      assert.equal((await browser.open(site.host, '/', { agent })).status, 302, 'idle everywhere');
      agent.destroy();
    }
  });

  test('a password that was right at one is known at all, and guesses count for all of them together', async () => {
    const site = await world.site({ enabled: false });
    const put = (password: string) =>
      world.edge.api('PUT', `${site.routePath}/basic_auth`, { users: [{ username: 'alice', password }] });
    await put('the right one');
    const agents = await agentOfEach(site);
    const ask = async (at: number, password: string): Promise<number> => {
      const authorization = `Basic ${Buffer.from(`alice:${password}`).toString('base64')}`;
      const agent = agents[at % WORKERS] as Agent;
      return (await world.edge.ask(site.host, '/', { agent, headers: { authorization } })).status;
    };
    assert.equal(await ask(0, 'the right one'), 200);
    const statuses: number[] = [];
    // An address that was right before may be wrong ten times more.
    for (let at = 0; at < 30 && statuses.at(-1) !== 429; at += 1) statuses.push(await ask(at, `guess ${at}`));
    const allowed = statuses.filter((status) => status === 401).length;
    assert.ok(allowed <= PER_MINUTE + 10, statuses.join());
    assert.equal(statuses.at(-1), 429);
    // The second worker has never seen it.
    assert.deepEqual([await ask(1, 'the right one'), await ask(0, 'the right one')], [200, 200]);
    await put('a later password');
    for (const at of [0, 1]) assert.equal(await ask(at, 'the right one'), 429, 'it is a guess now');
    for (const agent of agents) agent.destroy();
  });

  test('failed attempts count for all of them together', async () => {
    const site = await world.site();
    await world.edge.api('PUT', `${site.routePath}/access`, { allow: [{ guests: true }, { claims: { a: ['b'] } }] });
    const agents = await agentOfEach(site);
    const statuses: number[] = [];
    for (let at = 0; at < 2 * PER_MINUTE; at += 1) {
      const agent = agents[at % WORKERS] as Agent;
      const headers = { accept: 'text/html', 'sec-fetch-dest': 'document' };
      statuses.push(
        (await world.browser().ask(site.host, `/.postern/guest?link=invented${at}`, { agent, headers })).status,
      );
    }
    assert.deepEqual(statuses, [...Array(PER_MINUTE).fill(410), ...Array(PER_MINUTE).fill(429)]);
    for (const agent of agents) agent.destroy();
  });
});

test('the keys of a provider with tenants are fetched once for all workers', async (t) => {
  const oauth = await OauthWorld.open(t, { POSTERN_WORKERS: String(WORKERS) });
  const site = await oauth.site('microsoft');
  const agents = await agentOfEach(site, oauth.login);
  for (const agent of agents)
    assert.equal((await oauth.logIn(oauth.login.browser(), site.host, '/', { agent })).status, 200);
  for (const agent of agents) agent.destroy();
  const fetched = oauth.fakes.requests.filter((request) => /openid-configuration|keys$/.test(request));
  assert.equal(fetched.length, 2, fetched.join());
});

test('without the database, all workers admit whom one of them has seen, and when', async (t) => {
  const own = await LoginWorld.open(t, { env: { POSTERN_WORKERS: String(WORKERS) } });
  const site = await own.site({ inactivity_timeout: 100 });
  const agents = await agentOfEach(site, own);
  const browsers = Array.from({ length: 3 }, () => own.browser());
  for (const browser of browsers) await browser.logIn(site.host);
  const loggedOut = own.browser();
  await loggedOut.logIn(site.host);
  const cookies = loggedOut.copy();
  await loggedOut.open(site.host, '/.postern/logout', {
    method: 'POST',
    headers: { 'sec-fetch-site': 'same-origin' },
  });
  await own.edge.world.store.close();
  const statuses = async (browser: Browser, used: readonly Agent[] = agents): Promise<readonly number[]> => {
    const answers: number[] = [];
    for (const agent of used) answers.push((await browser.open(site.host, '/', { agent })).status);
    return answers;
  };
  for (const browser of browsers) assert.deepEqual(await statuses(browser), [200, 200]);
  assert(!(await statuses(cookies)).includes(200), 'who has logged out');
  const [browser] = browsers as [Browser];
  const [here] = agents as [Agent];
  own.clock.advance(60);
  assert.deepEqual(await statuses(browser, [here]), [200]);
  own.clock.advance(60);
  assert.deepEqual(await statuses(browser), [200, 200], 'who was active at one of them');
  own.clock.advance(101);
  assert(!(await statuses(browser)).includes(200), 'who was active at none of them');
  for (const agent of agents) agent.destroy();
});
