import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, suite, test } from 'node:test';
import { Http2Clients } from '../support/http2-clients.ts';
import { freshDatabase, startPostgres } from '../support/postgres.ts';
import { AgentWorld, assertAsked, decide, hostOf } from './agent-world.ts';
import { HostBrowser, IDENTITY_ISSUER } from './without-proof.ts';

const postgres = await startPostgres();
const database = await freshDatabase(postgres);
const shared = { POSTERN_SECRET_KEY: randomBytes(32).toString('base64'), POSTERN_PEER_LISTEN: '127.0.0.1:0' };
const alone = await AgentWorld.open({ after }, { isInOneThread: true });
const threaded = await AgentWorld.open({ after }, { env: { POSTERN_WORKERS: '2' } });
const one = await AgentWorld.open({ after }, { env: shared, databaseUrl: database.url });
const other = await AgentWorld.open({ after }, { env: { ...shared, POSTERN_WORKERS: '2' }, databaseUrl: database.url });
after(() => postgres.stop());

let people = 0;
function newPerson(world: AgentWorld, groups: readonly string[] = []): Promise<string> {
  people += 1;
  return world.identity.account(`person-${people}@example.com`, groups);
}

suite('an agent whose people log in at the identity host', () => {
  for (const [name, agents, visitors] of [
    ['one node on SQLite', alone, alone],
    ['two workers', threaded, threaded],
    ['PostgreSQL', one, one],
    ['the agent at another node, which the visitor reaches over a hop, in two workers', one, other],
    ['the agent in two workers, the visitor at the other node', other, one],
  ] as const) {
    for (const version of ['HTTP/1.1', 'HTTP/2'] as const) {
      test(`asks once before its service learns who somebody is: ${name}, ${version}`, async () => {
        const credential = await agents.credential({ description: 'Laptop of <Ben>' });
        const agent = await agents.agent(credential.token);
        const host = hostOf(agent);
        const person = await newPerson(agents);
        await visitors.edge.world.server.replica.refresh();
        await known(visitors, host);
        const clients = version === 'HTTP/2' ? new Http2Clients(visitors.edge) : visitors.edge;
        const browser = new HostBrowser(clients);
        const asked = await browser.open(`https://${host}/page?x=1`, person);
        assertAsked(asked, host, credential);
        assert.ok(asked.text.includes('Laptop of &lt;Ben&gt;'), asked.text);
        const page = await decide(browser, asked);
        assert.equal(page.status, 200, page.text);
        const { url, headers } = JSON.parse(page.text);
        assert.deepEqual([url, headers['postern-auth-user-id'] === undefined], ['/page?x=1', false]);
        // Another browser of the same person logs in, and is not asked again.
        const second = new HostBrowser(clients);
        assert.equal((await second.open(`https://${host}/`, person)).status, 200);
        await agent.close();
      });
    }
  }

  test('is asked about again when another agent has the host, and on another host of the same agent', async () => {
    const [first, second] = [await alone.credential(), await alone.credential()];
    const host = 'shop.localhost';
    const person = await newPerson(alone);
    const browser = new HostBrowser(alone.identity.edge);
    const agent = await alone.agent(first.token, { domain: host });
    await decide(browser, await browser.open(`https://${host}/`, person));
    await agent.close();
    // The same agent after a restart: nothing is asked.
    const again = await alone.agent(first.token, { domain: host });
    assert.equal((await browser.open(`https://${host}/`, null)).status, 200);
    await again.close();
    await alone.agent(second.token, { domain: host });
    assertAsked(await browser.open(`https://${host}/`, null), host, second);
    const elsewhere = await alone.agent(first.token, { domain: 'other.localhost' });
    assertAsked(await browser.open('https://other.localhost/', null), 'other.localhost', first);
    await elsewhere.close();
    await alone.closeAgents();
  });

  test('learns nothing when the person cancels, and they are asked again', async () => {
    const credential = await alone.credential();
    const host = hostOf(await alone.agent(credential.token));
    const browser = new HostBrowser(alone.identity.edge);
    const asked = await browser.open(`https://${host}/`, await newPerson(alone));
    const page = await decide(browser, asked, 'cancel');
    assert.deepEqual([page.status, page.headers['postern-error-code']], [403, 'ERR_POSTERN_LOGIN_DENIED'], page.text);
    assertAsked(await browser.open(`https://${host}/`, null), host, credential);
    await alone.closeAgents();
  });

  test('is asked about again after the person was logged out', async () => {
    const credential = await alone.credential();
    const host = hostOf(await alone.agent(credential.token));
    const person = await newPerson(alone);
    const browser = new HostBrowser(alone.identity.edge);
    await decide(browser, await browser.open(`https://${host}/`, person));
    await alone.edge.api('POST', `/user_accounts/${person}/sign_out`, {});
    assertAsked(await browser.open(`https://${host}/`, person), host, credential);
    await alone.closeAgents();
  });

  test('is listed for the person, who withdraws: the login there ends, and they are asked again', async () => {
    const credential = await alone.credential();
    const [host, other] = [
      hostOf(await alone.agent(credential.token)),
      hostOf(await alone.agent(credential.token, { domain: 'kept.localhost' })),
    ];
    const [ana, ben] = [new HostBrowser(alone.identity.edge), new HostBrowser(alone.identity.edge)];
    const person = await newPerson(alone);
    await decide(ben, await ben.open(`https://${host}/`, await newPerson(alone)));
    await decide(ana, await ana.open(`https://${host}/`, person));
    await decide(ana, await ana.open(`https://${other}/`, null));
    const page = await ana.open(`${IDENTITY_ISSUER}/account`, null);
    for (const name of [host, other]) assert.match(page.text, new RegExp(`Withdraw for ${name}, published with`));
    const withdrawn = await ana.submit('/account/consents/withdraw', { host, credential: credential.id });
    assert.equal(withdrawn.headers['location'], '/account?done=withdrawn', withdrawn.text);
    assert.doesNotMatch((await ana.open(`${IDENTITY_ISSUER}/account`, null)).text, new RegExp(`Withdraw for ${host}`));
    assert.equal((await ana.ask(`https://${other}/`)).status, 200, 'another address stays');
    assert.equal((await ben.ask(`https://${host}/`)).status, 200, 'another person stays');
    assertAsked(await ana.open(`https://${host}/`, null), host, credential);
    await alone.closeAgents();
  });

  test('asks for one proof where its login asks for a new one each time', async () => {
    const credential = await alone.credential();
    const modules = { oidc: { login_parameters: { prompt: 'login' } } };
    const host = hostOf(await alone.agent(credential.token, { modules }));
    const browser = new HostBrowser(alone.identity.edge);
    const asked = await browser.open(`https://${host}/`, await newPerson(alone));
    assertAsked(asked, host, credential);
    assert.equal((await decide(browser, asked)).status, 200);
    await assert.rejects(new HostBrowser(alone.identity.edge).open(`https://${host}/`, null), /a proof is asked for/);
    await alone.closeAgents();
  });

  test('lets in the groups that it names', async () => {
    const credential = await alone.credential();
    const modules = { oidc: {}, access: { allow_groups: ['ops', 'support'] } };
    const host = hostOf(await alone.agent(credential.token, { modules }));
    for (const [groups, status] of [
      [['support'], 200],
      [['sales'], 403],
    ] as const) {
      const browser = new HostBrowser(alone.identity.edge);
      const asked = await browser.open(`https://${host}/`, await newPerson(alone, groups));
      assert.equal((await decide(browser, asked)).status, status);
    }
    await alone.closeAgents();
  });

  test('keeps its people logged in when another node starts', async (t) => {
    const credential = await one.credential();
    const host = hostOf(await one.agent(credential.token));
    const browser = new HostBrowser(one.identity.edge);
    const asked = await browser.open(`https://${host}/`, await newPerson(one));
    assert.equal((await decide(browser, asked)).status, 200);
    const third = await AgentWorld.open(t, { env: shared, databaseUrl: database.url });
    await third.edge.world.close();
    assert.equal((await browser.ask(`https://${host}/`)).status, 200);
    await one.closeAgents();
  });

  test('needs the right to configure logins, and an identity host', async (t) => {
    const without = await alone.credential({ acl: ['configure:access'] });
    await assert.rejects(alone.agent(without.token), /"configure:oidc"/);
    const off = await AgentWorld.open(t, { env: { POSTERN_IDENTITY_HOST: '' } });
    const { token } = await off.credential();
    await assert.rejects(off.agent(token), /oidc: the server has no identity host/);
  });
});

/** Resolves when the node of the visitors has heard of the agent. */
async function known(world: AgentWorld, host: string): Promise<void> {
  const untilMs = performance.now() + 10_000;
  while ((await world.edge.ask(host).catch(() => null))?.status !== 401) {
    assert.ok(performance.now() < untilMs, `${host} is not published`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
