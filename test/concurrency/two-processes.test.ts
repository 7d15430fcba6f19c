import assert from 'node:assert/strict';
import { before, beforeEach, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { TEST_API_KEY, type TestWorld } from '../support/test-world.ts';
import {
  cleanupAfterSuite,
  countByStatus,
  FeedGate,
  inWorld,
  type Made,
  made,
  makeEdge,
  makeRoute,
  makeStaticBackend,
  openWorldsOnOneDatabase,
  usePostgres,
} from './worlds.ts';

usePostgres();

suite('two processes on one PostgreSQL', () => {
  const cleanup = cleanupAfterSuite();
  let a: TestWorld;
  let b: TestWorld;
  let gateOfB: FeedGate;

  before(async () => {
    [a, b] = (await openWorldsOnOneDatabase(cleanup, 2)) as [TestWorld, TestWorld];
    gateOfB = new FeedGate(b);
  });
  beforeEach(async () => {
    gateOfB.open();
    await Promise.all([a.server.replica.refresh(), b.server.replica.refresh()]);
  });

  /**
   * Runs `change` in A while B does not receive it, then `request` in B, and lets B receive it once that is in
   * progress.
   */
  async function onStaleB<Result>(change: () => Promise<unknown>, request: () => Promise<Result>): Promise<Result> {
    await b.server.replica.refresh();
    gateOfB.shut();
    await change();
    const answer = request();
    await sleep(100);
    gateOfB.open();
    return answer;
  }

  const at = (world: TestWorld, made: Made, module = ''): string => `${inWorld(world, made.uri)}${module}`;

  test('each reads its own writes immediately, while both write', async () => {
    await Promise.all(
      [a, b].map(async (world) => {
        for (let round = 0; round < 10; round += 1) {
          const route = await makeRoute(world);
          const { status } = await world.api('PUT', `${route.uri}/compression`, { enabled: round % 2 === 0 });
          assert.equal(status, 200);
          const read = await world.api('GET', route.uri);
          assert.equal(read.body.compression.enabled, round % 2 === 0);
          assert.equal((await world.api('DELETE', route.uri)).status, 204);
          assert.equal((await world.api('GET', route.uri)).status, 404);
        }
      }),
    );
    await Promise.all([a.server.replica.refresh(), b.server.replica.refresh()]);
    assert.equal(a.server.replica.revision, b.server.replica.revision);
    assert.deepEqual(Object.fromEntries(a.server.replica.counts()), Object.fromEntries(b.server.replica.counts()));
  });

  test('If-Match holds across processes: one wins per ETag', async () => {
    const route = await makeRoute(a);
    for (let round = 0; round < 5; round += 1) {
      await a.api('PUT', `${route.uri}/oidc`, { client_id: `start-${round}` });
      await b.server.replica.refresh();
      const etag = (await b.api('GET', at(b, route, '/oidc'))).headers.get('etag') as string;
      const answers = await Promise.all(
        Array.from({ length: 16 }, (_, writer) => {
          const world = writer % 2 === 0 ? a : b;
          const body = { client_id: `writer-${round}-${writer}` };
          return world.api('PUT', at(world, route, '/oidc'), body, { headers: { 'if-match': etag } });
        }),
      );
      assert.deepEqual(countByStatus(answers), { 200: 1, 412: 15 });
      const winner = answers.find(({ status }) => status === 200)?.body.client_id;
      await Promise.all([a.server.replica.refresh(), b.server.replica.refresh()]);
      for (const world of [a, b]) {
        assert.equal((await world.api('GET', at(world, route, '/oidc'))).body.client_id, winner);
      }
    }
  });

  test('the store checks If-Match on an edge: a module unknown to B fails it', async () => {
    const edge = await makeEdge(a);
    const route = await makeRoute(a, edge);
    await b.server.replica.refresh();
    const etag = (await b.api('GET', at(b, edge))).headers.get('etag') as string;
    for (const [change, undo] of [
      [() => a.api('PUT', `${route.uri}/compression`, {}), () => a.api('DELETE', `${route.uri}/compression`)],
      [() => makeSecondRoute(a, edge), async () => {}],
    ] as const) {
      const late = await onStaleB(change, () =>
        b.api('PATCH', at(b, edge), { metadata: 'late' }, { headers: { 'if-match': etag } }),
      );
      assert.equal(late.status, 412);
      await undo();
    }
  });

  test('a PUT that B considers unchanged still undoes what A wrote', async () => {
    const route = await makeRoute(a);
    await a.api('PUT', `${route.uri}/compression`, { enabled: true });
    const answer = await onStaleB(
      () => a.api('PUT', `${route.uri}/compression`, { enabled: false }),
      () => b.api('PUT', at(b, route, '/compression'), { enabled: true }),
    );
    assert.equal(answer.status, 200);
    await a.server.replica.refresh();
    assert.equal((await a.api('GET', `${route.uri}/compression`)).body.enabled, true);
  });

  test('a module in a PATCH that B considers unchanged still undoes what A wrote', async () => {
    const route = await makeRoute(a);
    await a.api('PUT', `${route.uri}/compression`, { enabled: true });
    const answer = await onStaleB(
      () => a.api('PUT', `${route.uri}/compression`, { enabled: false }),
      () => b.api('PATCH', at(b, route), { compression: { enabled: true } }),
    );
    assert.equal(answer.status, 200);
    assert.equal(answer.body.compression.enabled, true);
    await a.server.replica.refresh();
    assert.equal((await a.api('GET', `${route.uri}/compression`)).body.enabled, true);
  });

  test('a DELETE of a module that B considers unset still removes what A set', async () => {
    const route = await makeRoute(a);
    const answer = await onStaleB(
      () => a.api('PUT', `${route.uri}/compression`, {}),
      () => b.api('DELETE', at(b, route, '/compression')),
    );
    assert.equal(answer.status, 204);
    await a.server.replica.refresh();
    assert.equal((await a.api('GET', `${route.uri}/compression`)).status, 404);
  });

  for (const [how, write] of [
    [
      'PUT',
      (world: TestWorld, route: Made, key: string) =>
        world.api('PUT', at(world, route, '/oidc'), { issuer: 'https://i.example.com', client_id: 'b' }, { key }),
    ],
    [
      'PATCH',
      (world: TestWorld, route: Made, key: string) =>
        world.api('PATCH', at(world, route), { oidc: { issuer: 'https://i.example.com', client_id: 'b' } }, { key }),
    ],
  ] as const) {
    test(`a ${how} by a key without secrets:read keeps the secret that A set, not the one that B knows`, async () => {
      const blind = (await a.api('POST', '/api_keys', { scopes: ['edges:read', 'edges:write'] })).body.token as string;
      const route = await makeRoute(a);
      const oidc = { issuer: 'https://i.example.com', client_id: 'a' };
      await a.api('PUT', `${route.uri}/oidc`, { ...oidc, client_secret: 'first' });
      const answer = await onStaleB(
        () => a.api('PUT', `${route.uri}/oidc`, { ...oidc, client_secret: 'second' }),
        () => write(b, route, blind),
      );
      assert.equal(answer.status, 200);
      await a.server.replica.refresh();
      const { body } = await a.api('GET', `${route.uri}/oidc`);
      assert.deepEqual([body.client_id, body.client_secret], ['b', 'second']);
    });
  }

  test('a PUT by a key without secrets:read keeps the secret of a module unknown to B', async () => {
    const blind = (await a.api('POST', '/api_keys', { scopes: ['edges:read', 'edges:write'] })).body.token as string;
    const route = await makeRoute(a);
    const answer = await onStaleB(
      () => a.api('PUT', `${route.uri}/oidc`, { client_secret: 'unheard of' }),
      () => b.api('PUT', at(b, route, '/oidc'), { client_id: 'b' }, { key: blind }),
    );
    assert.equal(answer.status, 200);
    await a.server.replica.refresh();
    assert.equal((await a.api('GET', `${route.uri}/oidc`)).body.client_secret, 'unheard of');
  });

  test('PATCHes of different fields in different processes all survive', async () => {
    const backend = made(await a.api('POST', '/backends/http_response', {}));
    await b.server.replica.refresh();
    const fields = [
      { body: 'new' },
      { status_code: 503 },
      { headers: { 'x-a': '1' } },
      { description: 'd' },
      { metadata: 'm' },
    ];
    const answers = await Promise.all(
      fields.map((field, index) => (index % 2 === 0 ? a : b).api('PATCH', at(index % 2 === 0 ? a : b, backend), field)),
    );
    assert.deepEqual(countByStatus(answers), { 200: fields.length });
    await a.server.replica.refresh();
    const { body } = await a.api('GET', backend.uri);
    for (const field of fields) assert.deepEqual({ ...body, ...field }, body);
  });

  test('event sources added concurrently in both all survive, equal ones once', async () => {
    const subscription = made(await a.api('POST', '/event_subscriptions', {}));
    await b.server.replica.refresh();
    const { body } = await a.api('GET', '/event_types');
    const types = body.event_types.slice(0, 12).map(({ type }: { type: string }) => type) as string[];
    const answers = await Promise.all(
      types.flatMap((type) => [a, b].map((world) => world.api('POST', at(world, subscription, '/sources'), { type }))),
    );
    assert.deepEqual(countByStatus(answers), { 201: types.length, 409: types.length });
    await b.server.replica.refresh();
    assert.equal((await b.api('GET', at(b, subscription, '/sources'))).body.sources.length, types.length);
  });

  test('exactly one of concurrent creates of one host in both succeeds', async () => {
    const answers = await Promise.all(
      Array.from({ length: 16 }, (_, index) =>
        (index % 2 === 0 ? a : b).api('POST', '/edges/https', { hostports: ['both.localhost:443'] }),
      ),
    );
    assert.deepEqual(countByStatus(answers), { 201: 1, 409: 15 });
  });

  test('one of two failover backends that refer to each other, written in two processes, is rejected', async () => {
    const base = await makeStaticBackend(a);
    for (let round = 0; round < 5; round += 1) {
      const first = made(await a.api('POST', '/backends/failover', { backends: [base.id] }));
      const second = made(await a.api('POST', '/backends/failover', { backends: [base.id] }));
      await b.server.replica.refresh();
      const answers = await Promise.all([
        a.api('PATCH', at(a, first), { backends: [second.id] }),
        b.api('PATCH', at(b, second), { backends: [first.id] }),
      ]);
      assert.deepEqual(countByStatus(answers), { 200: 1, 400: 1 });
    }
  });

  test('an edge deleted in one process while the other adds routes and modules leaves nothing behind', async () => {
    for (let round = 0; round < 5; round += 1) {
      const edge = await makeEdge(a);
      const route = await makeRoute(a, edge);
      await b.server.replica.refresh();
      const [deleted, ...others] = await Promise.all([
        a.api('DELETE', edge.uri),
        b.api('POST', at(b, edge, '/routes'), { match_type: 'exact_path', match: '/late' }),
        b.api('PUT', at(b, route, '/compression'), {}),
        b.api('PUT', at(b, edge, '/tls_termination'), {}),
      ]);
      assert.equal(deleted?.status, 204);
      for (const other of others) assert.ok([200, 201, 404].includes(other.status), other.text);
      await Promise.all([a.server.replica.refresh(), b.server.replica.refresh()]);
      for (const world of [a, b]) {
        for (const kind of world.server.replica.counts().keys()) {
          for (const record of world.server.replica.all(kind)) {
            assert.ok(!`${record.id} ${record.parent}`.includes(edge.id), `${kind} ${record.id}`);
            assert.ok(!record.id.startsWith(route.id), `${kind} ${record.id}`);
          }
        }
      }
    }
  });

  test('B cannot delete with a narrower key a key that was widened since B received it', async () => {
    const narrow = (await a.api('POST', '/api_keys', { scopes: ['api_keys:write', 'edges:read'] })).body
      .token as string;
    const target = made(await a.api('POST', '/api_keys', { scopes: ['edges:read'] }));
    const answer = await onStaleB(
      () => a.api('PATCH', target.uri, { scopes: ['edges:read', 'edges:write'] }),
      () => b.api('DELETE', at(b, target), undefined, { key: narrow }),
    );
    assert.equal(answer.status, 403);
    assert.equal((await a.api('GET', target.uri)).status, 200);
  });

  test('one of the last two keys with all scopes survives deletion in both at once', async () => {
    const second = (await a.api('POST', '/api_keys', {})).body as Made & { token: string };
    const { body } = await a.api('GET', '/api_keys');
    const bootstrap = body.keys.at(-1) as Made;
    await b.server.replica.refresh();
    const answers = await Promise.all([
      a.api('DELETE', at(a, bootstrap), undefined, { key: second.token }),
      b.api('DELETE', at(b, second), undefined, { key: TEST_API_KEY }),
    ]);
    assert.equal(
      answers.filter(({ status }) => status === 204).length,
      1,
      JSON.stringify(answers.map(({ text }) => text)),
    );
    await Promise.all([a.server.replica.refresh(), b.server.replica.refresh()]);
    const survivor = answers[0]?.status === 204 ? second.token : TEST_API_KEY;
    const deleted = answers[0]?.status === 204 ? TEST_API_KEY : second.token;
    for (const world of [a, b]) {
      assert.equal((await world.api('GET', '/api_keys', undefined, { key: survivor })).status, 200);
      assert.equal((await world.api('GET', '/api_keys', undefined, { key: deleted })).status, 401);
    }
  });
});

function makeSecondRoute(world: TestWorld, edge: Made): Promise<unknown> {
  return world.api('POST', `${edge.uri}/routes`, { match_type: 'exact_path', match: '/second' });
}
