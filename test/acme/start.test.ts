import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { hasFailed, isIssued, untilManaged } from '../support/acme/acme-world.ts';
import { startFakeAcme } from '../support/acme/fake-acme-server.ts';
import { EdgeWorld } from '../support/edge-world.ts';
import { TestWorld } from '../support/test-world.ts';

const NO_SERVER = { POSTERN_ACME: 'on', POSTERN_ACME_DIRECTORY: 'https://127.0.0.1:1/directory' };
const options = { resolveName: async () => [] };

suite('a server with ACME', () => {
  test('starts and serves while no ACME server answers, and closes during an order', async (context) => {
    const edge = await EdgeWorld.open(context, NO_SERVER, options);
    const { host } = await edge.site(await edge.httpResponse('here'), 'app.example.com');
    assert.equal((await edge.ask(host)).text, 'here');
    const { job } = await untilManaged(edge.world.server, host, hasFailed);
    assert.equal(job?.error_code, 'ERR_POSTERN_ACME_UNREACHABLE');
    assert.equal((await edge.ask(host)).text, 'here');
    assert.match(await edge.metrics(), /postern_managed_certificates\{status="failed"\} 1/);
    assert.match(await edge.metrics(), /postern_acme_attempts_total\{outcome="failed"\} 1/);

    const fake = await startFakeAcme(context);
    fake.behaviour.intercept = ({ resource }) => (resource === 'newOrder' ? 'hang' : null);
    const env = { POSTERN_ACME: 'on', POSTERN_ACME_DIRECTORY: fake.directoryUrl, POSTERN_ACME_CA_FILE: fake.caFile };
    const other = await EdgeWorld.open(context, env, options);
    await other.edge('hanging.example.com');
    await untilManaged(other.world.server, 'hanging.example.com', ({ order }) => order !== null);
    await other.world.close();
  });

  test('orders nothing and keeps no record while ACME is off', async (context) => {
    const edge = await EdgeWorld.open(context, {}, options);
    const { host } = await edge.site(await edge.httpResponse('here'), 'app.example.com');
    assert.equal((await edge.ask(host)).text, 'here');
    assert.equal(edge.world.server.replica.count('managed_certificate'), 0);
  });

  test('gets certificates for the names of its own listeners', async (context) => {
    const fake = await startFakeAcme(context);
    const world = await TestWorld.open(context, {
      ...options,
      env: {
        POSTERN_ACME: 'on',
        POSTERN_ACME_DIRECTORY: fake.directoryUrl,
        POSTERN_ACME_CA_FILE: fake.caFile,
        POSTERN_ROLES: 'api,edge,gateway',
        POSTERN_EDGE_LISTEN: '127.0.0.1:0',
        POSTERN_EDGE_HTTP_LISTEN: '127.0.0.1:0',
        POSTERN_TUNNEL_LISTEN: '127.0.0.1:0',
        POSTERN_API_URL: 'https://api.example.com',
        POSTERN_API_TLS_CERT: 'internal',
        POSTERN_DOMAIN: 'tunnels.example.com',
        POSTERN_TUNNEL_NAMES: 'agents.example.com,agents.internal',
      },
    });
    for (const host of ['api.example.com', 'tunnels.example.com', 'agents.example.com']) {
      const { own_name_until } = await untilManaged(world.server, host, isIssued);
      assert.ok(Date.parse(own_name_until ?? '') > Date.now());
    }
    assert.equal(fake.orders.length, 3);
  });
});
