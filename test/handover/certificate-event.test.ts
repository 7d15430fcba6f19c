import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openSqliteStore } from '../../src/store/sqlite/open-sqlite-store.ts';
import { isIssued, untilManaged } from '../support/acme/acme-world.ts';
import { startFakeAcme } from '../support/acme/fake-acme-server.ts';
import { TestWorld } from '../support/test-world.ts';

const HOST = 'handover.example.com';
const KIND = 'event_subscription';

test('a certificate issued in a handover is reported to a subscription that the other process has just created', async (t) => {
  const acme = await startFakeAcme(t);
  const world = await TestWorld.open(t, {
    resolveName: async () => [],
    env: {
      POSTERN_ROLES: 'api,edge',
      POSTERN_EDGE_LISTEN: '127.0.0.1:0',
      POSTERN_EDGE_HTTP_LISTEN: '127.0.0.1:0',
      POSTERN_ACME: 'on',
      POSTERN_ACME_DIRECTORY: acme.directoryUrl,
      POSTERN_ACME_CA_FILE: acme.caFile,
    },
  });
  const { store, replica } = world.server;
  const destination = { format: 'json', target: { webhook: { url: 'http://127.0.0.1:9/', secret: 'x'.repeat(32) } } };
  const { body: made } = await world.api('POST', '/event_destinations', destination);
  const sources = [{ type: 'certificate_issued.v0' }];
  const { body } = await world.api('POST', '/event_subscriptions', { destination_ids: [made.id], sources });
  const subscription = replica.get(KIND, body.id);
  assert.ok(subscription, JSON.stringify(body));
  assert.equal((await world.api('DELETE', `/event_subscriptions/${body.id}`)).status, 204);

  store.sharing.begin();
  const successor = await openSqliteStore({ dataDir: world.dataDir, secretKey: null, takesOverAt: await store.mark() });
  t.after(() => successor.close());
  // This process looks for the other one's commits ten times a second: it hears of the subscription too late.
  acme.behaviour.intercept = async ({ resource }) => {
    if (resource !== 'certificate') return null;
    const references = [{ field: 'destination_ids', to: { kind: 'event_destination', id: made.id } }];
    const { kind, id, parent, doc } = subscription;
    const put = { kind, id, parent, doc, secrets: null, uniqueKeys: [], references };
    assert.ok((await successor.commit({ puts: [put] })).ok);
    return null;
  };
  assert.equal((await world.api('POST', '/reserved_domains', { domain: HOST })).status, 201);
  await untilManaged(world.server, HOST, isIssued);
  const { body: recorded } = await world.api('GET', '/event_deliveries');
  const deliveries = recorded.event_deliveries as readonly Record<string, Record<string, string>>[];
  assert.deepEqual(
    deliveries.map(({ event, subscription: to }) => [event?.['event_type'], to?.['id']]),
    [['certificate_issued.v0', body.id]],
  );
});
