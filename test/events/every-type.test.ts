import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeCertificate } from '../conformance/certificates.ts';
import { EdgeWorld } from '../support/edge-world.ts';
import { testPasskeyPut } from '../support/passkey-put.ts';
import { EventWorld } from './support/event-world.ts';
import { Receiver, verify } from './support/receiver.ts';

const PLANTED = 'planted-secret-0123456789';
const PLANTED_KEY = Buffer.from('planted-webhook-secret-012345678').toString('base64');

/** Creates, changes and deletes one of each noun; returns the expected object of each event type. */
async function causeAll(world: EventWorld): Promise<{ caused: Map<string, string>; secrets: string[] }> {
  const caused = new Map<string, string>();
  const secrets = [PLANTED, PLANTED_KEY];
  const authority = await makeCertificate({ commonName: 'events', isCa: true });
  const server = await makeCertificate({ commonName: 'a.example.com', dnsNames: ['a.example.com'] });
  secrets.push(server.keyPem.split('\n')[1] ?? '');

  async function life(noun: string, path: string, body: object, change: object = { description: 'changed' }) {
    const { id, token, url, invitation_url, client_secret } = await world.api('POST', path, body);
    if (typeof client_secret === 'string') secrets.push(client_secret);
    if (typeof invitation_url === 'string') secrets.push(new URL(invitation_url).searchParams.get('invite') as string);
    if (typeof token === 'string') secrets.push(token);
    if (noun === 'guest_link') secrets.push(new URL(url).searchParams.get('link') as string);
    await world.api('PATCH', `${path}/${id}`, change);
    for (const verb of ['created', 'updated', 'deleted']) caused.set(`${noun}_${verb}.v0`, id);
    return { id: id as string, remove: () => world.api('DELETE', `${path}/${id}`) };
  }

  const made = [
    await life('api_key', '/api_keys', {}),
    await life('certificate_authority', '/certificate_authorities', { ca_pem: authority.certificatePem }),
    await life('tls_certificate', '/tls_certificates', {
      certificate_pem: server.certificatePem,
      private_key_pem: server.keyPem,
    }),
    await life('domain', '/reserved_domains', { domain: 'a.example.com' }),
    await life('tunnel_credential', '/credentials', {}),
    await life('agent_invitation', '/agent_invitations', { gateway: 'gateway.example.com:7444' }),
    await life('backend', '/backends/static', { address: 'localhost:80' }),
    await life('event_subscription', '/event_subscriptions', {}),
    await life('event_destination', '/event_destinations', {
      target: {
        webhook: {
          url: 'https://hooks.example.com/',
          secret: `whsec_${PLANTED_KEY}`,
          headers: { 'x-key': PLANTED },
        },
      },
    }),
  ];
  const policy = await life('ip_policy', '/ip_policies', {});
  made.push(
    await life('ip_policy_rule', '/ip_policy_rules', {
      cidr: '192.0.2.0/24',
      ip_policy_id: policy.id,
      action: 'allow',
    }),
    await life('ip_policy_list', '/ip_policy_lists', {
      ip_policy_id: policy.id,
      url: 'https://lists.example.com/blocked.txt',
      headers: { 'x-key': PLANTED },
    }),
    policy,
  );
  const account = await life('service_account', '/service_accounts', { name: 'a' });
  made.push(
    await life('service_account_token', '/service_account_tokens', { service_account_id: account.id }),
    account,
  );
  const person = await life('user_account', '/user_accounts', { email: 'ana@example.com' });
  const { invitation_url } = await world.api('POST', `/user_accounts/${person.id}/invite`);
  secrets.push(new URL(invitation_url).searchParams.get('invite') as string);
  await world.api('POST', `/user_accounts/${person.id}/sign_out`);
  for (const verb of ['invited', 'signed_out']) caused.set(`user_account_${verb}.v0`, person.id);
  const passkey = `pk_${'0'.repeat(27)}`;
  assert.ok((await world.world.store.commit({ puts: [testPasskeyPut(passkey, person.id)] })).ok);
  await world.api('DELETE', `/user_accounts/${person.id}/passkeys/${passkey}`);
  caused.set('passkey_deleted.v0', passkey);
  const client = { name: 'Wiki', redirect_uris: ['https://wiki.example.com/callback'] };
  made.push(person, await life('oidc_client', '/oidc_clients', client));
  const edge = await life('https_edge', '/edges/https', { hostports: ['a.example.com:443'] });
  const route = await life('https_edge_route', `/edges/https/${edge.id}/routes`, {
    match: '/',
    match_type: 'path_prefix',
    oidc: { issuer: 'https://idp.example.com', client_id: 'c', client_secret: PLANTED },
  });
  const link = await life('guest_link', '/guest_links', {
    edge_id: edge.id,
    route_id: route.id,
    expires_at: new Date(Date.now() + 3_600_000).toISOString(),
  });
  made.push(link, route, edge);
  for (const each of made) await each.remove();
  return { caused, secrets };
}

test('each change, by each operation that causes it, becomes a signed request, and no payload contains a secret', async (t) => {
  const world = await EventWorld.open(t, { POSTERN_IDENTITY_HOST: 'id.example.com' });
  const { event_types: types } = await world.api('GET', '/event_types');
  const changes = (types as { type: string }[])
    .map(({ type }) => type)
    .filter((type) => /_(created|updated|deleted|invited|signed_out)\.v0$/.test(type))
    // No operation registers a passkey: the person does.
    .filter((type) => type !== 'passkey_created.v0');
  const lane = await world.lane(changes);
  const { caused, secrets } = await causeAll(world);
  assert.deepEqual([...caused.keys()].sort(), changes);
  await world.settled(lane, { pending: 0 });
  const received = world.receiver.at(lane.path);
  for (const each of received) verify(each, lane.secret);
  for (const [type, id] of caused) {
    const told = received.filter(({ event }) => event.event_type === type && event.object.id === id);
    assert.ok(told.length > 0, `${type} of ${id} was delivered`);
    assert.match(told[0]?.event.principal.id, /^ak_/);
    assert.match(told[0]?.event.account_id, /^ac_/);
  }
  assert.ok(received.length >= caused.size);
  const { text } = await world.world.api('GET', '/metrics');
  for (const type of changes) {
    const count = new Set(received.filter(({ event }) => event.event_type === type).map(({ id }) => id)).size;
    assert.ok(text.includes(`postern_events_recorded_total{type="${type}"} ${count}\n`), `${type} was counted`);
  }
  const everything = received.map(({ body }) => body).join('\n');
  for (const secret of [...secrets, lane.secret]) assert.ok(!everything.includes(secret), 'an event contains a secret');
});

test('a request through the edge becomes an event, without header and query', async (t) => {
  const receiver = await Receiver.open(t);
  const edge = await EdgeWorld.open(t, {
    POSTERN_ROLES: 'api,edge,events',
    POSTERN_EVENTS_ALLOW_CIDRS: '127.0.0.0/8',
  });
  const destination = await edge.api('POST', '/event_destinations', {
    target: { webhook: { url: receiver.url('/') } },
  });
  const site = await edge.site(await edge.httpResponse('hello'));
  const before = await edge.ask(site.host, '/unheard');
  assert.equal(before.status, 200);
  await edge.api('POST', '/event_subscriptions', {
    sources: [{ type: 'http_request_complete.v0' }],
    destination_ids: [destination.id],
  });
  const answer = await edge.ask(site.host, `/path?token=${PLANTED}`, {
    headers: { authorization: `Bearer ${PLANTED}`, cookie: `a=${PLANTED}` },
  });
  assert.equal(answer.status, 200);
  const [received] = await receiver.until('/', 1);
  assert.ok(received);
  verify(received, destination.target.webhook.secret);
  const { object, principal } = received.event;
  assert.equal(principal, null);
  assert.deepEqual(
    [object.method, object.host, object.path, object.status, object.edge_id, object.route_id, object.bytes_out],
    ['GET', site.host, '/path', 200, site.edgeId, site.routeId, 5],
  );
  assert.ok(!received.body.includes(PLANTED));
  const { text } = await edge.world.api('GET', '/metrics');
  assert.match(text, /postern_events_recorded_total\{type="http_request_complete.v0"\} 1/);
});
