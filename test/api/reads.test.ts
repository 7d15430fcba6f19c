import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { TEST_API_KEY, TestWorld } from '../support/test-world.ts';

const world = await TestWorld.open({ after });
const edge = (await world.api('POST', '/edges/https', { hostports: ['direct.localhost:7443'] })).body;
const route = (await world.api('POST', `/edges/https/${edge.id}/routes`, { match_type: 'path_prefix', match: '/' }))
  .body;
const oidc = `/edges/https/${edge.id}/routes/${route.id}/oidc`;
await world.api('PUT', oidc, { issuer: 'https://accounts.example.com', client_secret: 'hush' });
const subscription = (await world.api('POST', '/event_subscriptions', { sources: [{ type: 'ip_policy_created.v0' }] }))
  .body;
const blind = (await world.api('POST', '/api_keys', { scopes: ['edges:read'] })).body.token as string;
const sources = `/event_subscriptions/${subscription.id}/sources`;

const paths = [
  oidc,
  `${oidc}s`,
  edge.uri,
  route.uri,
  '/edges/https',
  '/event_types',
  sources,
  `${sources}/ip_policy_created.v0`,
  `${sources}/no.v0`,
];
const FACTS = [
  'etag',
  'postern-problem',
  'content-type',
  'cache-control',
  'content-length',
  'allow',
  'www-authenticate',
];

/** A client may also send the version in the retired service's header. */
const BOTH_VERSIONS = { 'ngrok-version': '2' };

for (const path of paths) {
  for (const [who, key] of [
    ['everything', TEST_API_KEY],
    ['edges:read', blind],
    ['nobody', null],
  ] as const) {
    test(`GET ${path.replace(world.baseUrl, '').replaceAll(/_[0-9A-Za-z]{27}/g, '_…')} as ${who} is the same with either version header`, async () => {
      const direct = await world.api('GET', path, undefined, { key });
      const full = await world.api('GET', path, undefined, { key, headers: BOTH_VERSIONS });
      assert.equal(direct.status, full.status);
      assert.deepEqual(withoutOperationId(direct.body), withoutOperationId(full.body));
      for (const name of FACTS) assert.equal(direct.headers.get(name), full.headers.get(name), name);
      for (const answer of [direct, full])
        assert.match(answer.headers.get('postern-operation-id') ?? '', /^op_[0-9A-Za-z]{27}$/);
    });
  }
}

test('a read is counted and logged', async () => {
  const answer = await world.api('GET', oidc);
  const metrics = await world.api('GET', '/metrics');
  assert.match(
    metrics.text,
    /postern_api_requests_total\{operation="https_edge_routes\.oidc\.get",status="200"\} [1-9]/,
  );
  assert.match(
    metrics.text,
    /postern_api_request_duration_seconds_bucket\{le="\+Inf",operation="https_edge_routes\.oidc\.get"\} [1-9]/,
  );
  assert.match(
    metrics.text,
    /postern_api_request_duration_seconds_count\{operation="https_edge_routes\.oidc\.get"\} [1-9]/,
  );
  const id = answer.headers.get('postern-operation-id') ?? '';
  const line = world.logLines.find((text) => text.includes(id));
  assert.deepEqual(Object.keys(JSON.parse(line ?? '{}')), [
    'level',
    'time',
    'node',
    'operation_id',
    'operation',
    'method',
    'path',
    'status',
    'key_id',
    'ms',
    'msg',
  ]);
});

test('a recently used key stops working with its deletion', async () => {
  const made = (await world.api('POST', '/api_keys', {})).body;
  assert.equal((await world.api('GET', oidc, undefined, { key: made.token })).status, 200);
  assert.equal((await world.api('DELETE', made.uri)).status, 204);
  assert.equal((await world.api('GET', oidc, undefined, { key: made.token })).status, 401);
});

function withoutOperationId(body: { details?: { operation_id?: string } } | null): unknown {
  if (body?.details === undefined) return body;
  return { ...body, details: { ...body.details, operation_id: '' } };
}
