import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { inspect } from 'node:util';
import { PosternApiError, PosternClient, responseOf } from '../../src/client/index.ts';
import { TEST_API_KEY, TestWorld } from '../support/test-world.ts';

/** More than a page. */
const ITEMS = 110;

const world = await TestWorld.open({ after });
const client = new PosternClient({ baseUrl: world.baseUrl, apiKey: TEST_API_KEY });

suite('the client against a server', () => {
  test('creates, reads, changes and deletes with full types', async () => {
    const edge = await client.httpsEdges.create({ hostports: ['app.localhost:7443'] });
    const route = await client.httpsEdgeRoutes.create(edge.id, { match_type: 'path_prefix', match: '/' });
    const place = { edge_id: edge.id, id: route.id };
    const oidc = await client.httpsEdgeRoutes.oidc.replace(place, { issuer: 'https://accounts.example.com' });
    assert.equal(oidc.enabled, true);
    assert.deepEqual(await client.httpsEdgeRoutes.oidc.get(place), oidc);
    assert.equal((await client.httpsEdges.get(edge.id)).routes[0]?.oidc?.issuer, 'https://accounts.example.com');
    assert.equal((await client.httpsEdgeRoutes.oidc.delete(place)).status, 204);
    const changed = await client.httpsEdges.update(edge.id, { description: 'the app' });
    assert.equal(changed.description, 'the app');
    assert.deepEqual(await Array.fromAsync(client.httpsEdgeRoutes.list(edge.id)), changed.routes);
    await client.httpsEdges.mutualTls.replace(edge.id, { enabled: false });
    await client.httpsEdges.delete(edge.id);
    await assert.rejects(client.httpsEdges.get(edge.id), { name: 'PosternApiError', status: 404 });
  });

  test('event sources and actions', async () => {
    const subscription = await client.eventSubscriptions.create();
    const type = 'ip_policy_created.v0';
    assert.equal((await client.eventSources.create(subscription.id, { type })).type, type);
    assert.equal((await client.eventSources.update({ subscription_id: subscription.id, type })).type, type);
    assert.deepEqual(
      (await Array.fromAsync(client.eventSources.list(subscription.id))).map((source) => source.type),
      [type],
    );
    const destination = await client.eventDestinations.create({ target: { file: { name: 'audit.ndjson' } } });
    assert.equal((await client.eventDestinations.pause(destination.id)).status, 204);
    assert.equal((await client.eventDestinations.get(destination.id)).status, 'paused');
    assert.equal((await client.eventDeliveries.replayMatching()).replayed, 0);
    assert.ok((await client.eventTypes.page()).event_types.length > 10);
  });

  test(`iterates over ${ITEMS} items, each once, newest first, and no further than requested`, async () => {
    const ids: string[] = [];
    await Promise.all(
      Array.from({ length: ITEMS }, async () => {
        ids.push((await client.ipPolicies.create()).id);
      }),
    );
    const listed: string[] = [];
    for await (const policy of client.ipPolicies.list()) listed.push(policy.id);
    assert.deepEqual(listed, ids.sort().reverse());
    const { requests, counted } = countingClient();
    for await (const _ of counted.ipPolicies.list({ limit: 20 })) if (requests() > 1) break;
    assert.equal(requests(), 2);
    const page = await client.ipPolicies.page({ limit: 20, before_id: listed[19] });
    assert.equal(page.ip_policies[0]?.id, listed[20]);
  });

  test('sends the key only to the base URL, whatever the next page names', async () => {
    const seen: string[] = [];
    const answers = [
      { ip_policies: [], uri: '', next_page_uri: 'https://elsewhere.example.com/ip_policies?before_id=x&limit=1' },
      { ip_policies: [], uri: '', next_page_uri: null },
    ];
    const other = new PosternClient({
      baseUrl: 'http://127.0.0.1:7080/below',
      apiKey: TEST_API_KEY,
      fetch: (input) => {
        seen.push(input as string);
        const headers = { 'postern-operation-id': 'op_1' };
        return Promise.resolve(Response.json(answers.shift(), { headers }));
      },
    });
    assert.deepEqual(await Array.fromAsync(other.ipPolicies.list()), []);
    assert.deepEqual(seen, [
      'http://127.0.0.1:7080/below/ip_policies',
      'http://127.0.0.1:7080/below/ip_policies?before_id=x&limit=1',
    ]);
  });

  test('throws a rejection with code, status, operation id and details', async () => {
    const failed = client.httpsEdges.create({ hostports: ['nonsense'] });
    const error: unknown = await failed.catch((reason: unknown) => reason);
    assert.ok(error instanceof PosternApiError);
    assert.equal(error.code, 'ERR_POSTERN_INVALID_BODY');
    assert.equal(error.status, 400);
    assert.match(error.operationId ?? '', /^op_/);
    assert.equal(error.details['field'], '/hostports');
    assert.match(error.message, /hostports/);
    assert.doesNotMatch(inspect(error, { depth: 9 }), new RegExp(TEST_API_KEY));
  });

  test('a response carries its etag and revision, invisible to JSON and loops', async () => {
    const policy = await client.ipPolicies.create();
    const { etag, revision, status, operationId } = responseOf(policy);
    assert.match(etag ?? '', /^"\d+"$/);
    assert.equal(status, 201);
    assert.ok(Number.isInteger(revision));
    assert.match(operationId ?? '', /^op_/);
    assert.equal(Object.keys({ ...policy }).includes('etag'), false);
    assert.deepEqual(policy, await client.ipPolicies.get(policy.id));
  });

  test('ifMatch accepts a read object, and rejects one without an etag', async () => {
    const policy = await client.ipPolicies.create();
    await client.ipPolicies.update(policy.id, { description: 'one' }, { ifMatch: policy });
    const late = client.ipPolicies.update(
      policy.id,
      { description: 'two' },
      { ifMatch: responseOf(policy).etag ?? '' },
    );
    await assert.rejects(late, { status: 412 });
    const page = await client.ipPolicies.page();
    await assert.rejects(client.ipPolicies.delete(policy.id, { ifMatch: page }), /ifMatch has no ETag/);
  });

  test("ifNoneMatch '*' creates and never replaces", async () => {
    const edge = await client.httpsEdges.create({ hostports: ['none-match.localhost:443'] });
    const once = () => client.httpsEdges.tlsTermination.replace(edge.id, { min_version: '1.3' }, { ifNoneMatch: '*' });
    await once();
    await assert.rejects(once(), { status: 412 });
    const page = await client.ipPolicies.page();
    await assert.rejects(client.httpsEdges.delete(edge.id, { ifNoneMatch: page }), /ifNoneMatch has no ETag/);
  });

  test('an idempotency key creates once', async () => {
    const options = { idempotencyKey: crypto.randomUUID() };
    const first = await client.ipPolicies.create({ description: 'once' }, options);
    assert.equal((await client.ipPolicies.create({ description: 'once' }, options)).id, first.id);
    await assert.rejects(client.ipPolicies.create({ description: 'twice' }, options), { status: 422 });
  });

  test('rejects ids that would climb out of the path, and encodes others', async () => {
    for (const id of ['..', '.', '']) await assert.rejects(client.ipPolicies.get(id), TypeError);
    await assert.rejects(client.ipPolicies.get('a/b'), { status: 404 });
  });

  test('neither the client nor its errors reveal the key', () => {
    assert.doesNotMatch(
      inspect(client, { depth: 9, showHidden: true }) + JSON.stringify(client),
      new RegExp(TEST_API_KEY),
    );
    assert.throws(
      () => new PosternClient({ baseUrl: world.baseUrl, apiKey: 'planted\nkey' }),
      (error: Error) => {
        return error instanceof TypeError && !error.message.includes('planted');
      },
    );
    assert.throws(() => new PosternClient({ baseUrl: 'localhost:7080', apiKey: TEST_API_KEY }), TypeError);
  });
});

function countingClient(): { requests: () => number; counted: PosternClient } {
  let count = 0;
  const counted = new PosternClient({
    baseUrl: world.baseUrl,
    apiKey: TEST_API_KEY,
    fetch: (input, init) => {
      count += 1;
      return fetch(input, init);
    },
  });
  return { requests: () => count, counted };
}
