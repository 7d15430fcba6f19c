import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, suite, test } from 'node:test';
import { connect } from '../../src/tunnel/agent/index.ts';
import { EdgeWorld } from '../support/edge-world.ts';
import { Http2Clients } from '../support/http2-clients.ts';
import { tempDir } from '../support/temp-dir.ts';
import { AgentWorld } from './agent-world.ts';
import { IDENTITY_HOST, IDENTITY_ISSUER } from './without-proof.ts';

/** The identity host, hosts below it, and other spellings. */
const OURS = [IDENTITY_HOST, 'ID.LocalHost', `a.${IDENTITY_HOST}`, `a.b.${IDENTITY_HOST}`];
const DISCOVERY = '/.well-known/openid-configuration';

suite('no tunnel has the identity host, or a host below it', async () => {
  const world = await AgentWorld.open({ after });
  const { token } = await world.credential({ acl: OURS.map((host) => `bind:${host.toLowerCase()}`) });

  for (const proto of ['https', 'http', 'tls'] as const) {
    test(`of the protocol ${proto}, also if the acl names it`, async () => {
      for (const domain of [...OURS, 'id'])
        await assert.rejects(
          world.agent(token, { proto, domain, modules: undefined, ...(proto === 'tls' && { addr: '127.0.0.1:9' }) }),
          /is the identity host id\.localhost or below it/,
          domain,
        );
    });
  }

  test('and one may have a host that only ends like it', async () => {
    const free = await world.credential();
    const agent = await world.agent(free.token, { domain: 'notid.localhost', modules: undefined });
    assert.equal((await world.edge.ask('notid.localhost')).status, 200);
    await agent.close();
  });

  test('a wildcard tunnel of names below the domain does not win', async () => {
    const wildcard = await world.credential({ acl: ['bind:*.localhost'] });
    await assert.rejects(world.agent(wildcard.token, { domain: 'id' }), /is the identity host/);
    const { text } = await world.edge.ask(IDENTITY_HOST, DISCOVERY);
    assert.equal(JSON.parse(text).issuer, IDENTITY_ISSUER);
  });
});

suite('who had the names before the setting', async () => {
  const env = {
    POSTERN_SECRET_KEY: randomBytes(32).toString('base64'),
    POSTERN_AUTHTOKEN: 'a'.repeat(40),
    POSTERN_ROLES: 'api,edge,gateway',
    POSTERN_TUNNEL_LISTEN: '127.0.0.1:0',
  };
  const dataDir = await tempDir({ after });
  const hosts = [IDENTITY_HOST, `a.${IDENTITY_HOST}`, `*.${IDENTITY_HOST}`, 'other.localhost'];
  const edges: string[] = [];
  const connectTo = (world: EdgeWorld) =>
    connect({
      serverAddr: `127.0.0.1:${world.world.server.addresses.tunnel?.port ?? 0}`,
      authtoken: env.POSTERN_AUTHTOKEN,
      ca: world.ca,
      tunnels: [{ proto: 'https', addr: '127.0.0.1:9', domain: `b.a.${IDENTITY_HOST}` }],
    });

  test('has them while there is no identity host', async (t) => {
    const before = await EdgeWorld.open(t, env, { dataDir });
    for (const host of hosts) {
      const id = await before.edge(host);
      edges.push(id);
      const route = await before.route(id, '/');
      await before.api('PUT', `${route}/backend`, { backend_id: await before.httpResponse(`edge of ${host}`) });
    }
    assert.equal((await before.ask(IDENTITY_HOST)).text, `edge of ${IDENTITY_HOST}`);
    assert.equal((await before.ask(`x.${IDENTITY_HOST}`)).text, `edge of *.${IDENTITY_HOST}`);
    await (await connectTo(before)).close();
  });

  for (const workers of ['1', '2']) {
    test(`gives way to the identity host, and is a problem: with ${workers} workers`, async (t) => {
      const settings = { ...env, POSTERN_IDENTITY_HOST: IDENTITY_HOST, POSTERN_WORKERS: workers };
      const now = await EdgeWorld.open(t, settings, { dataDir });
      for (const clients of [now, new Http2Clients(now)]) {
        assert.equal(JSON.parse((await clients.ask(IDENTITY_HOST, DISCOVERY)).text).issuer, IDENTITY_ISSUER);
        assert.ok(!(await clients.ask(IDENTITY_HOST)).text.includes('edge of'));
        // A site below the identity host could set its cookies, and use its passkeys.
        for (const host of [`a.${IDENTITY_HOST}`, `x.${IDENTITY_HOST}`]) await assert.rejects(clients.ask(host), host);
        assert.equal((await clients.ask('other.localhost')).text, 'edge of other.localhost');
      }
      await assert.rejects(connectTo(now), /is the identity host/);
      const { problems } = await now.api('GET', '/problems');
      const found: string[] = problems.map(({ message }: { message: string }) => message);
      for (const [at, host] of hosts.slice(0, 3).entries())
        assert.ok(
          found.some((message) =>
            message.startsWith(`the edge ${edges[at]} has the host ${host}, which is the identity`),
          ),
          found.join('\n'),
        );
    });
  }

  test('can change and delete the edge, and does not get the name back', async (t) => {
    const now = await EdgeWorld.open(t, { ...env, POSTERN_IDENTITY_HOST: IDENTITY_HOST }, { dataDir });
    const path = `/edges/https/${edges[0]}`;
    await now.api('PATCH', path, { description: 'in the way' });
    const changed = await now.world.api('PATCH', path, { hostports: ['free.localhost:443'] });
    assert.equal(changed.status, 200, changed.text);
    assert.equal((await now.world.api('PATCH', path, { hostports: [`${IDENTITY_HOST}:443`] })).status, 409);
    const undone = await now.world.api('POST', `/changes/${changed.headers.get('postern-revision')}/undo`);
    assert.deepEqual([undone.status, undone.body.error_code], [409, 'ERR_POSTERN_CANNOT_UNDO'], undone.text);
    const operations = [{ method: 'PATCH', path, body: { hostports: [`a.b.${IDENTITY_HOST}:443`] } }];
    assert.equal((await now.world.api('POST', '/changesets', { operations })).status, 409);
    await now.api('DELETE', path);
  });
});
