import assert from 'node:assert/strict';
import { request as httpRequest } from 'node:http';
import { after, test } from 'node:test';
import { resources } from '../../src/control/resources/registry.ts';
import { shareOfCases } from '../support/share-of-cases.ts';
import { TEST_API_KEY, TestWorld } from '../support/test-world.ts';
import { assertApiError, assertRefused, assertUnmoved } from './api-error.ts';
import { FURNISHED_ENV, FurnishedWorld, nameOf, operations } from './furnished-world.ts';
import { newId } from './interface-parents.ts';

const world = await TestWorld.open({ after }, { env: FURNISHED_ENV });
const furnished = await FurnishedWorld.furnish(world);
const edge = `/edges/https/${furnished.id('edghts')}`;
const route = `${edge}/routes/${furnished.id('edghtsrt')}`;
/** The history has revisions instead of ids; test/changes pages through it. */
const lists = operations.filter(({ verb, query }) => verb === 'list' && query?.properties['before_id'] !== undefined);

test('unknown paths are 404, whatever the method', async () => {
  for (const path of [
    '/nothing',
    '/edges',
    '/edges/https/',
    '//edges/https',
    '/Tunnels',
    '/tunnels/',
    '/edges/tcp',
    '/%ff',
    '/edges/https/%',
  ]) {
    for (const method of ['GET', 'POST', 'DELETE'])
      await assertRefused(world, () => world.api(method, path), { status: 404 });
  }
  await assertRefused(world, () => world.api('GET', '/nothing'), {
    status: 404,
    code: 'ERR_POSTERN_UNKNOWN_PATH',
    says: '/openapi.json',
  });
});

test('a known path with another method is 405, and Allow lists the supported ones', async () => {
  const byPath = Map.groupBy(operations, ({ path }) => path);
  const served = new Map<string, Set<string>>();
  for (const [subject, [path, all]] of [...byPath].entries()) {
    const address = furnished.path(all[0] as (typeof operations)[number]);
    const methods = served.get(path) ?? new Set();
    for (const { method } of all) methods.add(method);
    if (methods.has('GET')) methods.add('HEAD');
    methods.add('OPTIONS');
    // When read, "replay" is an id.
    if (path === '/event_deliveries/replay') continue;
    for (const method of shareOfCases(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'], subject, 3)) {
      if (methods.has(method)) continue;
      const answer = await assertRefused(world, () => world.api(method, address, method === 'GET' ? undefined : {}), {
        status: 405,
        code: 'ERR_POSTERN_METHOD_NOT_ALLOWED',
      });
      const allowed = new Set(answer.headers.get('allow')?.split(', '));
      for (const each of methods) assert.ok(allowed.has(each), `${path} allows ${each}`);
      assert.ok(!allowed.has(method));
    }
  }
  for (const page of ['/healthz', '/openapi.json', '/docs', '/metrics']) {
    const answer = await assertRefused(world, () => world.api('POST', page, {}), { status: 405 });
    assert.equal(answer.headers.get('allow'), 'GET, HEAD, OPTIONS');
  }
});

test('pages need no version and, except for metrics, no key', async () => {
  for (const page of ['/healthz', '/openapi.json', '/docs'])
    assert.equal((await world.api('GET', page, undefined, { key: null, version: null })).status, 200, page);
  assertApiError(await world.api('GET', '/metrics', undefined, { key: null, version: null }), { status: 401 });
  assert.equal((await world.api('GET', '/metrics', undefined, { version: null })).status, 200);
});

test('Ngrok-Version is an alias of Service-Version, and differing values are rejected', async () => {
  for (const { operation, version } of [
    { operation: '/edges/https', version: '2' },
    { operation: '/tunnels', version: '0' },
  ]) {
    const answer = await world.api('GET', operation, undefined, {
      version: null,
      headers: { 'ngrok-version': version },
    });
    assert.equal(answer.status, 200, answer.text);
  }
  const both = { headers: { 'ngrok-version': '2' } };
  assert.equal((await world.api('GET', '/edges/https', undefined, both)).status, 200);
  assertApiError(await world.api('GET', '/tunnels', undefined, { ...both, version: '0' }), {
    status: 400,
    code: 'ERR_POSTERN_VERSION',
  });
  assertApiError(await world.api('GET', '/edges/https', undefined, { version: '2, 2' }), {
    status: 400,
    code: 'ERR_POSTERN_VERSION',
  });
});

test('the scheme of Authorization is case-insensitive, and spaces around the key do not matter', async () => {
  for (const authorization of [`bearer ${TEST_API_KEY}`, `BEARER   ${TEST_API_KEY}`])
    assert.equal(
      (await world.api('GET', '/tunnels', undefined, { key: null, headers: { authorization } })).status,
      200,
    );
});

test('ignores content type and body on GET and DELETE', async () => {
  for (const type of ['application/json', 'text/plain', 'nonsense', 'a/b;c']) {
    const headers = { 'content-type': type };
    assert.equal((await world.api('GET', edge, undefined, { headers })).status, 200, type);
    assert.equal((await world.api('DELETE', `${route}/compression`, undefined, { headers })).status, 204, type);
    const withBody = await world.api('DELETE', `${route}/compression`, undefined, { headers, rawBody: '{"x":' });
    assert.equal(withBody.status, 204, `${type}: ${withBody.text}`);
  }
  // fetch sends no body with GET; existing clients do.
  assert.equal(await statusOf('GET', edge, '{"x":'), 200);
});

test('JSON may be declared with parameters and in any case', async () => {
  for (const type of ['application/json; charset=utf-8', 'Application/JSON', 'application/json;charset="UTF-8"']) {
    const answer = await world.api(
      'PUT',
      `${route}/compression`,
      { enabled: true },
      { headers: { 'content-type': type } },
    );
    assert.equal(answer.status, 200, type);
  }
});

test('an empty PUT or PATCH body is {}', async () => {
  await world.api('PUT', `${route}/compression`, { enabled: false });
  for (const options of [
    {},
    { headers: { 'content-type': 'application/json' } },
    { rawBody: '' },
    { rawBody: ' \n' },
  ]) {
    const put = await world.api('PUT', `${route}/compression`, undefined, options);
    assert.deepEqual([put.status, put.body], [200, { enabled: true }]);
    const patched = await assertUnmoved(world, () => world.api('PATCH', edge, undefined, options));
    assert.equal(patched.status, 200, patched.text);
  }
});

test('HEAD responds like GET, without the body', async () => {
  for (const path of [edge, '/tunnels', '/edges/https?limit=1', `${route}/compression`, '/nothing', `${edge}x`]) {
    const get = await world.api('GET', path);
    const head = await world.api('HEAD', path);
    assert.equal(head.status, get.status, path);
    assert.equal(head.text, '');
    for (const name of ['etag', 'content-type', 'content-length'])
      assert.equal(head.headers.get(name), get.headers.get(name), `${path} ${name}`);
  }
});

test('every response has its own operation id and is not cached', async () => {
  const seen = new Set<string>();
  for (const path of [
    '/tunnels',
    '/nothing',
    '/healthz',
    `${route}/compression`,
    '/%ff',
    `/tunnels/${'x'.repeat(300)}`,
  ]) {
    const answer = await world.api('GET', path);
    seen.add(answer.headers.get('postern-operation-id') ?? '');
    assert.equal(answer.headers.get('cache-control'), 'no-store', path);
  }
  assert.equal(seen.size, 6);
  for (const id of seen) assert.match(id, /^op_[0-9A-Za-z]{27}$/);
});

test('the operation id is in the log line', async () => {
  const answer = await world.api('GET', '/tunnels');
  const id = answer.headers.get('postern-operation-id') as string;
  const lines = world.logLines
    .join('')
    .split('\n')
    .filter((line) => line.includes(id));
  assert.equal(lines.length, 1);
});

test('lists: limit is 1 to 100, parameters come once, and cursors are ids', async () => {
  for (const [subject, operation] of lists.entries()) {
    const path = furnished.path(operation);
    for (const limit of shareOfCases(['0', '101', '-1', '1.5', '1e1', 'ten', ' 5', '0x10', '00005'], subject, 4))
      await assertRefused(world, () => world.api('GET', `${path}?limit=${encodeURIComponent(limit)}`), {
        status: 400,
        code: 'ERR_POSTERN_INVALID_QUERY',
        says: 'limit must be a whole number from 1 to 100',
      });
    const { idPrefix = '' } = resources.find((each) => each.path === operation.path) ?? {};
    const [older, other] = [newId(idPrefix), newId(idPrefix)];
    const repeated = [
      'limit=1&limit=1',
      `before_id=${older}&before_id=${other}`,
      `before_id=${older}&beforeId=${other}`,
    ];
    for (const query of shareOfCases(repeated, subject, 3))
      await assertRefused(world, () => world.api('GET', `${path}?${query}`), { status: 400, says: 'more than once' });
    const invalid = [
      'before_id=%00',
      'before_id=a%20b',
      'before_id=%F0%9F%98%80',
      `before_id=${'x'.repeat(65)}`,
      'before_id=nonsense',
      'beforeId=nonsense',
      'before_id=0',
      `before_id=${newId('zz')}`,
      `before_id=${older.toUpperCase()}`,
      `before_id=${older}%0A`,
      `before_id=${older}x`,
      '__proto__=1',
      'Limit=1',
    ];
    for (const query of shareOfCases(invalid, subject, 4))
      await assertRefused(world, () => world.api('GET', `${path}?${query}`), {
        status: 400,
        code: 'ERR_POSTERN_INVALID_QUERY',
      });
    const valid = ['limit=1', 'limit=100', 'limit=', 'before_id=', `before_id=${older}`, `beforeId=${older}`];
    for (const query of shareOfCases(valid, subject, 3)) {
      const answer = await world.api('GET', `${path}?${query}`);
      assert.equal(answer.status, 200, `${path}?${query}: ${answer.text}`);
    }
  }
});

test('event deliveries: filters take an id of their own kind, and one of the states', async () => {
  for (const [parameter, value] of [
    ['before_id', 'nonsense'],
    ['before_id', newId('esb')],
    ['subscription_id', 'nonsense'],
    ['subscription_id', newId('ed')],
    ['destination_id', newId('esb')],
    ['state', 'lost'],
    ['state', ''],
  ] as const) {
    const answer = await assertRefused(world, () => world.api('GET', `/event_deliveries?${parameter}=${value}`), {
      status: 400,
      code: 'ERR_POSTERN_INVALID_QUERY',
      says: parameter,
    });
    assert.equal(answer.body.details.parameter, parameter);
  }
  for (const query of [`subscription_id=${newId('esb')}`, `destination_id=${newId('ed')}`, 'state=dead'])
    assert.equal((await world.api('GET', `/event_deliveries?${query}`)).status, 200, query);
});

test('an empty value of a query parameter is rejected by name, except where existing clients send it unset', async () => {
  const cases = operations.flatMap((operation) =>
    Object.keys(operation.query?.properties ?? {}).map((name) => ({ operation, name })),
  );
  assert.ok(cases.length > 90, `${cases.length} parameters`);
  for (const { operation, name } of cases.filter((each) => !['limit', 'before_id', 'q'].includes(each.name))) {
    const path = `${furnished.path(operation)}?${name}=`;
    const answer = await assertRefused(world, () => world.api(operation.method, path), {
      status: 400,
      code: 'ERR_POSTERN_INVALID_QUERY',
      says: `${name} is empty: give it a value, or leave it out`,
    });
    assert.equal(answer.body.details.parameter, name, path);
  }
});

test('lists: newest first, in an envelope whose array is never null, stable across pages', async () => {
  for (let count = 0; count < 4; count += 1) await furnished.create('/ip_policies', {});
  for (const operation of lists) {
    const resource = resources.find(({ path }) => path === operation.path);
    const listKey = resource?.listKey ?? '';
    const all = await world.api('GET', furnished.path(operation));
    // Other nodes are asked for requests: the list names those that answered.
    const envelope = [listKey, 'next_page_uri', 'uri', ...(listKey === 'requests' ? ['nodes'] : [])];
    assert.deepEqual(Object.keys(all.body).sort(), envelope.sort(), nameOf(operation));
    assert.equal(all.body.uri, `${world.baseUrl}${furnished.path(operation)}`);
    assert.equal(all.body.next_page_uri, null);
    const ids = all.body[listKey].map(({ id }: { id: string }) => id);
    assert.deepEqual(ids, ids.toSorted().toReversed());
    const paged: unknown[] = [];
    for (let next: string | null = `${all.body.uri}?limit=1`; next !== null; ) {
      const page = await world.api('GET', next);
      assert.ok(page.body[listKey].length <= 1);
      paged.push(...page.body[listKey]);
      next = page.body.next_page_uri;
    }
    assert.deepEqual(paged.map(atRest), all.body[listKey].map(atRest), nameOf(operation));
    const beyond = await world.api('GET', `${all.body.uri}?before_id=${resource?.idPrefix}_${'0'.repeat(27)}`);
    assert.deepEqual(beyond.body[listKey], []);
  }
});

test('every uri leads to its resource', async () => {
  for (const operation of lists) {
    const { listKey = '' } = resources.find(({ path }) => path === operation.path) ?? {};
    const { body } = await world.api('GET', furnished.path(operation));
    for (const item of body[listKey].filter(({ uri }: { uri?: string }) => uri !== undefined)) {
      const found = await world.api('GET', item.uri);
      assert.deepEqual(atRest(found.body), atRest(item), item.uri);
    }
  }
});

/** A node is seen several times a second. */
function atRest(item: unknown): unknown {
  return { ...(item as object), last_seen_at: null };
}

test('a write returns its revision, and If-Match with the read ETag passes once', async () => {
  const { headers, body } = await world.api('GET', edge);
  const etag = headers.get('etag') as string;
  const first = await world.api('PATCH', edge, { description: 'one' }, { headers: { 'if-match': etag } });
  assert.equal(first.status, 200, first.text);
  assert.equal(first.headers.get('postern-revision'), String(world.server.replica.revision));
  assert.notEqual(first.headers.get('etag'), etag);
  await assertRefused(
    world,
    () => world.api('PATCH', edge, { description: 'two' }, { headers: { 'if-match': etag } }),
    { status: 412 },
  );
  const list = `"1", ${first.headers.get('etag')}`;
  const back = await world.api('PATCH', edge, { description: body.description }, { headers: { 'if-match': list } });
  assert.equal(back.status, 200);
  assert.equal((await world.api('PATCH', edge, {}, { headers: { 'if-match': '*' } })).status, 200);
});

test('adding, changing and deleting a module changes the ETag of its route and edge', async () => {
  const etags = async () => [
    (await world.api('GET', edge)).headers.get('etag'),
    (await world.api('GET', route)).headers.get('etag'),
  ];
  await world.api('DELETE', `${route}/oidc`);
  let before = await etags();
  for (const [method, body] of [
    ['PUT', {}],
    ['PUT', { client_id: 'x' }],
    ['DELETE', undefined],
  ] as const) {
    await world.api(method, `${route}/oidc`, body);
    const now = await etags();
    assert.notDeepEqual(now[0], before[0], method);
    assert.notDeepEqual(now[1], before[1], method);
    before = now;
  }
});

test('Idempotency-Key: a repeat returns the first response, another body 422, a token 409 with the id', async () => {
  const key = (value: string) => ({ headers: { 'idempotency-key': value } });
  const first = await world.api('POST', '/ip_policies', { description: 'once' }, key('a'));
  assert.equal(first.status, 201);
  const repeat = await assertUnmoved(world, () => world.api('POST', '/ip_policies', { description: 'once' }, key('a')));
  assert.deepEqual([repeat.status, repeat.body], [201, first.body]);
  const other = await assertRefused(
    world,
    () => world.api('POST', '/ip_policies', { description: 'twice' }, key('a')),
    { status: 422, code: 'ERR_POSTERN_IDEMPOTENCY_MISMATCH', says: 'use a new key' },
  );
  assert.equal(other.body.details.id, first.body.id);
  assert.equal(
    (await world.api('POST', '/backends/http_response', { description: 'once' }, key('a'))).status,
    201,
    'another path',
  );
  for (const path of ['/api_keys', '/credentials']) {
    const made = await world.api('POST', path, {}, key('token'));
    const again = await assertRefused(world, () => world.api('POST', path, {}, key('token')), {
      status: 409,
      code: 'ERR_POSTERN_IDEMPOTENCY_REPLAY',
    });
    assert.equal(again.body.details.id, made.body.id);
    assert.ok(!again.text.includes(made.body.token));
  }
  for (const bad of ['', 'a b', 'x'.repeat(256)])
    await assertRefused(world, () => world.api('POST', '/ip_policies', {}, key(bad)), {
      status: 400,
      code: 'ERR_POSTERN_INVALID_HEADER',
      says: 'Idempotency-Key',
    });
});

test('Idempotency-Key: one of ten concurrent creates succeeds, the others wait or get its response', async () => {
  const before = world.server.replica.count('ip_policy');
  const send = () => world.api('POST', '/ip_policies', {}, { headers: { 'idempotency-key': 'at-once' } });
  const answers = await Promise.all(Array.from({ length: 10 }, send));
  assert.equal(world.server.replica.count('ip_policy'), before + 1);
  for (const answer of answers) {
    if (answer.status === 201) continue;
    assertApiError(answer, { status: 409, code: 'ERR_POSTERN_IDEMPOTENCY_IN_FLIGHT' });
    assert.equal(answer.headers.get('retry-after'), '1');
  }
});

test('null and "" count as absent: on POST and PUT as the default, on PATCH as "not named"', async () => {
  const created = await world.api('POST', '/ip_policies', { description: null, metadata: '' });
  assert.deepEqual([created.status, created.body.description, created.body.metadata], [201, '', '']);
  const uri = created.body.uri;
  await world.api('PATCH', uri, { description: 'kept', metadata: 'kept' });
  const patched = await world.api('PATCH', uri, { description: null, metadata: '' });
  assert.deepEqual([patched.body.description, patched.body.metadata], ['kept', ''], '"" is how PATCH unsets a text');
  const full = { enabled: false, cookie_prefix: 'x.', client_id: 'x', scopes: ['a'], inactivity_timeout: 5 };
  await world.api('PUT', `${route}/oidc`, full);
  const unset = Object.fromEntries(Object.keys(full).map((name) => [name, null]));
  const put = await world.api('PUT', `${route}/oidc`, { ...unset, issuer: '', client_secret: '' });
  assert.deepEqual(
    [put.body.enabled, put.body.cookie_prefix, put.body.client_id, put.body.scopes, put.body.inactivity_timeout],
    [true, '', '', [], 0],
  );
  await assertRefused(world, () => world.api('PUT', `${route}/backend`, { backend_id: '' }), {
    status: 400,
    field: '/backend_id',
  });
  await world.api('DELETE', `${route}/oidc`);
});

test('accepts numbers in every JSON notation', async () => {
  for (const [text, value] of [
    ['-0', 0],
    ['60.0', 60],
    ['6e1', 60],
    ['4294967295', 4_294_967_295],
  ] as const) {
    const rawBody = `{"inactivity_timeout":${text}}`;
    const put = await world.api('PUT', `${route}/oidc`, undefined, { rawBody });
    assert.deepEqual([put.status, put.body.inactivity_timeout], [200, value], text);
    const same = await assertUnmoved(world, () => world.api('PUT', `${route}/oidc`, undefined, { rawBody }));
    assert.deepEqual(same.body, put.body);
  }
  await assertRefused(
    world,
    () => world.api('PUT', `${route}/oidc`, undefined, { rawBody: '{"inactivity_timeout":1e999}' }),
    { status: 400, field: '/inactivity_timeout' },
  );
});

test('a module in a PATCH of a route is replaced completely, and others stay', async () => {
  await world.api('PUT', `${route}/oidc`, { client_id: 'x', enabled: false });
  await world.api('PUT', `${route}/compression`, { enabled: false });
  const { body } = await world.api('PATCH', route, { oidc: { issuer: 'https://accounts.example.com' } });
  assert.deepEqual([body.oidc.client_id, body.oidc.enabled, body.compression], ['', true, { enabled: false }]);
});

test('masked secrets that are sent back stay, and a new header beside them is added', async () => {
  const { body } = await world.api('POST', '/event_destinations', {
    target: { webhook: { url: 'https://hooks.example.com', headers: { 'x-a': 'secret' } } },
  });
  const read = await world.api('GET', body.uri);
  assert.equal(read.body.target.webhook.secret, '********');
  assert.deepEqual(read.body.target.webhook.headers, { 'x-a': '********' });
  const { target } = read.body;
  const same = await assertUnmoved(world, () => world.api('PATCH', body.uri, { target }));
  assert.equal(same.status, 200, same.text);
  const more = { webhook: { ...target.webhook, headers: { ...target.webhook.headers, 'x-b': 'new' } } };
  assert.equal((await world.api('PATCH', body.uri, { target: more })).status, 200);
  const stored = world.server.replica.get('event_destination', body.id)?.secrets ?? {};
  assert.deepEqual(JSON.parse(stored['/target/webhook/headers'] ?? ''), { 'x-a': 'secret', 'x-b': 'new' });
  assert.equal(JSON.parse(stored['/target/webhook/secret'] ?? ''), body.target.webhook.secret);
});

test('scopes of a key read back as they were sent', async () => {
  for (const scopes of [['*'], ['edges:read', '*'], ['edges:read', 'backends:write']]) {
    const { body } = await world.api('POST', '/api_keys', { scopes });
    assert.deepEqual((await world.api('GET', body.uri)).body.scopes, scopes);
  }
  assert.deepEqual((await world.api('POST', '/api_keys', {})).body.scopes, ['*']);
});

/** GET with a body, which fetch refuses to send. */
function statusOf(method: string, path: string, body: string): Promise<number> {
  const headers = {
    authorization: `Bearer ${TEST_API_KEY}`,
    'service-version': '2',
    'content-type': 'application/json',
    'content-length': body.length,
  };
  return new Promise((settle, fail) => {
    const request = httpRequest(`${world.baseUrl}${path}`, { method, headers, agent: false }, (response) => {
      response.resume();
      response.once('end', () => settle(response.statusCode ?? 0));
    });
    request.once('error', fail);
    request.end(body);
  });
}
