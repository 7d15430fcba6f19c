import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startFakeAcme } from '../support/acme/fake-acme-server.ts';
import { EventWorld } from './support/event-world.ts';
import { verify } from './support/receiver.ts';

interface CertificateEvent {
  readonly event_type: string;
  readonly object: {
    readonly id: string;
    readonly hostname: string;
    readonly status: string;
    readonly provisioning_job: { readonly msg: string } | null;
  };
}

test('a change becomes a signed request at its receiver, and a delivery in the API', async (t) => {
  const world = await EventWorld.open(t);
  const lane = await world.lane(['ip_policy_created.v0'], { headers: { 'x-tenant': 'blue' } });
  const [id] = await world.policies(1);
  const [received] = await world.receiver.until(lane.path, 1);
  assert.ok(received);
  assert.equal((verify(received, lane.secret) as { object: { id: string } }).object.id, id);
  assert.throws(() => verify(received, `whsec_${Buffer.alloc(32).toString('base64')}`), /No matching signature/);
  assert.equal(received.headers['x-tenant'], 'blue');
  assert.equal(received.headers['webhook-id'], received.event.event_id);
  await world.settled(lane, { delivered: 1, pending: 0 });
  const [delivery] = await world.deliveries(lane);
  assert.equal(delivery.state, 'delivered');
  assert.equal(delivery.next_attempt_at, null);
  assert.deepEqual(delivery.event, received.event);
  assert.equal(delivery.attempts.length, 1);
  assert.equal(delivery.attempts[0].status, 204);
  assert.equal(delivery.attempts[0].error, null);
});

test('an issued and a failed certificate become signed requests, without keys', async (t) => {
  const acme = await startFakeAcme(t);
  acme.behaviour.validate = (hostname) => hostname !== 'wrong.example.com' || 'Connection refused';
  const env = {
    POSTERN_ROLES: 'api,edge,events',
    POSTERN_EDGE_LISTEN: '127.0.0.1:0',
    POSTERN_EDGE_HTTP_LISTEN: '127.0.0.1:0',
    POSTERN_ACME: 'on',
    POSTERN_ACME_DIRECTORY: acme.directoryUrl,
    POSTERN_ACME_CA_FILE: acme.caFile,
  };
  const world = await EventWorld.open(t, env, { resolveName: async () => [] });
  const lane = await world.lane(['certificate_issued.v0', 'certificate_failed.v0']);
  for (const domain of ['right.example.com', 'wrong.example.com'])
    await world.api('POST', '/reserved_domains', { domain });
  const requests = await world.receiver.until(lane.path, 2);
  const events = requests.map((received) => verify(received, lane.secret) as CertificateEvent);
  for (const [type, hostname, status] of [
    ['certificate_issued.v0', 'right.example.com', 'issued'],
    ['certificate_failed.v0', 'wrong.example.com', 'failed'],
  ] as const) {
    const event = events.find(({ event_type }) => event_type === type);
    assert.deepEqual([event?.object.hostname, event?.object.status], [hostname, status]);
    const { body } = await world.world.api('GET', `/managed_certificates/${event?.object.id}`);
    assert.deepEqual(event?.object, body, 'as the API shows it');
  }
  assert.match(events.map(({ object }) => object.provisioning_job?.msg ?? '').join(''), /Connection refused/);
  assert.doesNotMatch(JSON.stringify(events), /PRIVATE KEY|BEGIN CERTIFICATE/);
});
