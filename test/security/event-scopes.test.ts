import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { createCatalog } from '../../src/control/documents/catalog.ts';
import { resources } from '../../src/control/resources/registry.ts';
import { modules } from '../../src/modules/registry.ts';
import { TestWorld } from '../support/test-world.ts';
import { makeKey } from './keys.ts';

const world = await TestWorld.open({ after });
const EVENTS = ['event_subscriptions', 'event_destinations', 'event_deliveries'];
const EVENT_SCOPES = EVENTS.flatMap((segment) => [`${segment}:read`, `${segment}:write`]);
const SECRET = 'what only readers of ip policies may see';

/** Everything about events and nothing else, except for `further`. */
async function keyWith(...further: readonly string[]): Promise<string> {
  return (await makeKey(world, [...EVENT_SCOPES, ...further])).token;
}

async function asked(key: string | null, method: string, path: string, body?: unknown) {
  return world.api(method, path, body, key === null ? {} : { key });
}

async function made(path: string, body: unknown, key: string | null = null) {
  const answer = await asked(key, 'POST', path, body);
  assert.equal(answer.status, 201, answer.text);
  return answer.body;
}

async function refused(scope: string, ...request: Parameters<typeof asked>): Promise<void> {
  const { status, body, text } = await asked(...request);
  assert.equal(status, 403, `${request[1]} ${request[2]}: ${text}`);
  assert.equal(body.error_code, 'ERR_POSTERN_FORBIDDEN');
  assert.equal(body.details.scope, scope);
  assert.ok(body.msg.includes(`"${scope}"`), body.msg);
}

async function allowed(...request: Parameters<typeof asked>) {
  const { status, body, text } = await asked(...request);
  assert.ok(status < 300, `${request[1]} ${request[2]}: ${text}`);
  return body;
}

const destination = (name: string) => ({ target: { file: { name } } });
const sources = (...types: readonly string[]) => ({ sources: types.map((type) => ({ type })) });

suite('events of a noun require permission to read the noun', () => {
  test('creating and changing a subscription', async () => {
    const key = await keyWith();
    const reader = await keyWith('ip_policies:read');
    const { id: to } = await made('/event_destinations', destination('a'), key);
    const body = { ...sources('ip_policy_created.v0'), destination_ids: [to] };
    await refused('ip_policies:read', key, 'POST', '/event_subscriptions', body);
    await refused('ip_policies:read', key, 'POST', '/event_subscriptions', { ...body, destination_ids: [] });
    const { id } = await made('/event_subscriptions', body, reader);
    const path = `/event_subscriptions/${id}`;
    const both = sources('ip_policy_created.v0', 'api_key_created.v0');
    await refused('api_keys:read', reader, 'PATCH', path, both);
    await refused('api_keys:read', reader, 'POST', `${path}/sources`, { type: 'api_key_created.v0' });
    await allowed(reader, 'POST', `${path}/sources`, { type: 'ip_policy_deleted.v0' });
    await refused('ip_policies:read', key, 'POST', `${path}/sources`, { type: 'ip_policy_updated.v0' });
  });

  test('adding a destination to a subscription with types that the key may not read', async () => {
    const key = await keyWith();
    const { id } = await made('/event_subscriptions', sources('https_edge_created.v0'));
    const { id: to } = await made('/event_destinations', destination('b'), key);
    const path = `/event_subscriptions/${id}`;
    await refused('edges:read', key, 'PATCH', path, { destination_ids: [to] });
    await allowed(await keyWith('edges:read'), 'PATCH', path, { destination_ids: [to] });
    await allowed(key, 'PATCH', path, { description: 'narrowing and describing need no more' });
    await allowed(key, 'PATCH', path, { destination_ids: [] });
    await allowed(key, 'PATCH', path, { sources: [] });
  });

  test('changing the target of a subscribed destination', async () => {
    const key = await keyWith();
    const { id: to } = await made('/event_destinations', { target: { webhook: { url: 'https://a.example/' } } });
    const path = `/event_destinations/${to}`;
    await allowed(key, 'PATCH', path, { target: { webhook: { url: 'https://b.example/' } } });
    const { id } = await made('/event_subscriptions', { ...sources('tunnel_start.v0'), destination_ids: [to] });
    await refused('tunnels:read', key, 'PATCH', path, { target: { webhook: { url: 'https://c.example/' } } });
    await allowed(key, 'PATCH', path, { description: 'x' });
    const rotated = { target: { webhook: { url: 'https://b.example/', secret: `whsec_${'A'.repeat(44)}` } } };
    await allowed(key, 'PATCH', path, rotated);
    await allowed(key, 'POST', `${path}/pause`, {});
    await allowed(key, 'POST', `${path}/resume`, {});
    await allowed(null, 'DELETE', `/event_subscriptions/${id}`);
  });

  test('changing the target of a destination with queued events that the key may not read', async () => {
    const key = await keyWith();
    const { id: to } = await made('/event_destinations', destination('waiting'));
    await allowed(null, 'POST', `/event_destinations/${to}/pause`, {});
    const { id } = await made('/event_subscriptions', { ...sources('ip_policy_created.v0'), destination_ids: [to] });
    await made('/ip_policies', { description: SECRET });
    await allowed(key, 'PATCH', `/event_subscriptions/${id}`, { sources: [] });
    await refused('ip_policies:read', key, 'PATCH', `/event_destinations/${to}`, destination('stolen'));
    await allowed(await keyWith('ip_policies:read'), 'PATCH', `/event_destinations/${to}`, destination('moved'));
    await allowed(null, 'DELETE', `/event_subscriptions/${id}`);
  });

  test('deliveries show and replay their object only to keys that may read it', async () => {
    const key = await keyWith();
    const reader = await keyWith('ip_policies:read');
    const { id: to } = await made('/event_destinations', destination('c'));
    const { id } = await made('/event_subscriptions', { ...sources('ip_policy_created.v0'), destination_ids: [to] });
    const policy = await made('/ip_policies', { description: SECRET });
    const list = `/event_deliveries?subscription_id=${id}`;
    const [shown] = (await allowed(reader, 'GET', list)).event_deliveries;
    assert.equal(shown.event.object.description, SECRET);
    const [hidden] = (await allowed(key, 'GET', list)).event_deliveries;
    assert.deepEqual({ ...shown.event, object: null }, hidden.event);
    const path = `/event_deliveries/${shown.id}`;
    assert.ok(!(await asked(key, 'GET', path)).text.includes(SECRET));
    await refused('ip_policies:read', key, 'POST', `${path}/replay`, {});
    assert.equal((await made(`${path}/replay`, {}, reader)).event.object.id, policy.id);
    await refused('ip_policies:read', key, 'POST', '/event_deliveries/replay', { state: 'pending' });
    assert.ok((await allowed(reader, 'POST', '/event_deliveries/replay', { state: 'pending' })).replayed >= 2);
    await allowed(null, 'DELETE', `/event_subscriptions/${id}`);
  });

  test('testing a destination reveals only its id, so it needs no more than write permission', async () => {
    const key = await keyWith();
    const { id } = await made('/event_destinations', destination('d'), key);
    const { status, body } = await asked(key, 'POST', `/event_destinations/${id}/test`, {});
    assert.equal(status, 503, JSON.stringify(body));
  });
});

test('every event type names an existing scope, and the list shows it', async () => {
  const { eventTypes, scopes } = createCatalog(resources, modules);
  const { event_types: listed } = await allowed(null, 'GET', '/event_types');
  assert.deepEqual(
    listed,
    eventTypes.map(({ type, description, scope }) => ({ type, description, scope })),
  );
  const scopeOf = new Map(eventTypes.map(({ type, scope }) => [type, scope]));
  for (const { type, scope } of eventTypes) assert.ok(scopes.includes(scope) && scope.endsWith(':read'), type);
  assert.deepEqual(
    [
      'backend_created.v0',
      'domain_created.v0',
      'https_edge_route_updated.v0',
      'tunnel_credential_created.v0',
      'agent_session_start.v0',
      'tunnel_stop.v0',
      'http_request_complete.v0',
      'tcp_connection_closed.v0',
    ].map((type) => scopeOf.get(type)),
    [
      'backends:read',
      'reserved_domains:read',
      'edges:read',
      'credentials:read',
      'tunnel_sessions:read',
      'tunnels:read',
      'edges:read',
      'endpoints:read',
    ],
  );
});
