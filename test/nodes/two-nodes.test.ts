import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FreshDatabase, PostgresServer } from '../support/postgres.ts';
import { freshDatabase, startPostgres } from '../support/postgres.ts';
import { TestWorld } from '../support/test-world.ts';

let server: PostgresServer;
let database: FreshDatabase;
let one: TestWorld;
let two: TestWorld;
const cleanups: (() => Promise<void>)[] = [];

before(async () => {
  server = await startPostgres();
  database = await freshDatabase(server);
  const test = { after: (task: () => Promise<void>) => void cleanups.push(task) };
  one = await TestWorld.open(test, worldOf('one'));
  two = await TestWorld.open(test, { ...worldOf('two'), dataDir: one.dataDir });
});
after(async () => {
  for (const task of cleanups.toReversed()) await task();
  await database.drop();
  await server.stop();
});

function worldOf(name: string, env: Readonly<Record<string, string>> = {}) {
  return { databaseUrl: database.url, env: { POSTERN_NODE_NAME: name, ...env } };
}

async function eventually(t: TestContext, check: () => Promise<void>): Promise<void> {
  await t.waitFor(check, { timeout: 20_000 });
}

test('every node lists all nodes', async (t) => {
  await eventually(t, async () => {
    for (const world of [one, two]) {
      const { body } = await world.api('GET', '/nodes');
      assert.deepEqual(
        body.nodes.map(({ name, status, roles, agents }: Record<string, unknown>) => [name, status, roles, agents]),
        [
          ['two', 'ready', ['api'], 0],
          ['one', 'ready', ['api'], 0],
        ],
      );
    }
  });
  const [node] = (await one.api('GET', '/nodes?limit=1')).body.nodes;
  assert.deepEqual(Object.keys(node).sort(), [
    ...['agents', 'id', 'last_seen_at', 'name', 'peer_address', 'problems', 'region', 'roles', 'started_at', 'status'],
    ...['tunnels', 'uri', 'version'],
  ]);
  assert.match(node.peer_address, /^127\.0\.0\.1:\d+$/);
  const found = await one.api('GET', `/nodes/${node.id}`);
  assert.deepEqual([found.status, found.body.name, found.body.uri], [200, 'two', `${one.baseUrl}/nodes/${node.id}`]);
  assert.equal((await one.api('GET', '/nodes/nd_none')).status, 404);
});

test('the verbose health names store and peers', async (t) => {
  await eventually(t, async () => {
    const { body } = await one.api('GET', '/healthz?verbose');
    assert.deepEqual(Object.keys(body), ['status', 'store', 'peers']);
    assert.deepEqual(
      [body.status, body.store.status, body.peers],
      ['ready', 'ok', [{ name: 'two', status: 'linked' }]],
    );
    assert.ok(Date.parse(body.store.since) <= Date.now());
  });
  assert.deepEqual((await one.api('GET', '/healthz')).body, { status: 'ready' });
});

test('log lines and metrics have the name of the node', async () => {
  for (const line of two.logLines) assert.equal(JSON.parse(line).node, 'two', line);
  const { text } = await two.api('GET', '/metrics');
  assert.match(text, /postern_node_info\{id="nd_\w+",node="two",version="[^"]+"\} 1/);
});

test('a server with another domain cannot join', async (t) => {
  const joining = TestWorld.open(t, {
    ...worldOf('three', { POSTERN_DOMAIN: 'other.example' }),
    dataDir: one.dataDir,
  });
  await assert.rejects(joining, {
    code: 'ERR_POSTERN_NODE_DIFFERS',
    message: /domain is other\.example here and localhost on the other nodes: set domain \(POSTERN_DOMAIN\)/,
  });
});

test('a configured peer port that is in use is named', async (t) => {
  const port = one.server.addresses.peer?.port;
  const third = { ...worldOf('three', { POSTERN_PEER_LISTEN: `127.0.0.1:${port}` }), dataDir: one.dataDir };
  await assert.rejects(TestWorld.open(t, third), {
    code: 'ERR_POSTERN_LISTEN',
    message: /is already in use. Set another address with peer_listen \(POSTERN_PEER_LISTEN\)/,
  });
});

test('a node on all addresses is dialled at the one that reaches the database, and leaves without a trace', async (t) => {
  const cleanup: (() => Promise<void>)[] = [];
  const env = { POSTERN_PEER_LISTEN: '0.0.0.0:0' };
  const third = await TestWorld.open(
    { after: (task) => void cleanup.push(task) },
    { ...worldOf('third', env), dataDir: one.dataDir },
  );
  await eventually(t, async () => {
    const { body } = await one.api('GET', '/healthz?verbose');
    const third = body.peers.find(({ name }: { name: string }) => name === 'third');
    assert.equal(third?.status, 'linked');
  });
  assert.equal(third.server.addresses.peer?.host, '0.0.0.0');
  for (const task of cleanup) await task();
  const { body } = await one.api('GET', '/nodes');
  assert.deepEqual(
    body.nodes.map(({ name }: { name: string }) => name),
    ['two', 'one'],
  );
});

/** A balancer sends each request to any node, sooner than the other has heard of what the one before wrote. */
test('a client can send its next request to another node', async () => {
  for (let round = 0; round < 10; round += 1) {
    const edge = (await one.api('POST', '/edges/https', { description: 'new' })).body;
    assert.equal((await two.api('GET', `/edges/https/${edge.id}`)).status, 200);
    const renamed = await one.api('PATCH', `/edges/https/${edge.id}`, { description: 'renamed' });
    const headers = { 'if-match': renamed.headers.get('etag') ?? '' };
    const again = await two.api('PATCH', `/edges/https/${edge.id}`, { description: 'again' }, { headers });
    assert.deepEqual([again.status, again.body.description], [200, 'again']);
    const stale = await one.api('PATCH', `/edges/https/${edge.id}`, { description: 'lost' }, { headers });
    assert.equal(stale.body.error_code, 'ERR_POSTERN_PRECONDITION_FAILED');
    const other = (await one.api('POST', '/edges/https', {})).body;
    const route = { match_type: 'path_prefix', match: '/' };
    assert.equal((await two.api('POST', `/edges/https/${other.id}/routes`, route)).status, 201);
    const { token } = (await one.api('POST', '/api_keys', { scopes: ['*'] })).body;
    assert.equal((await two.api('GET', '/edges/https', undefined, { key: token })).status, 200);
    await one.api('DELETE', `/edges/https/${other.id}`);
    assert.equal((await two.api('PATCH', `/edges/https/${other.id}`, { description: 'x' })).status, 404);
  }
});

/** Node two reads nothing new until the returned function is called, as before a signal arrives. */
function holdSecond(): () => void {
  const { store } = two;
  const original = store.changesSince.bind(store);
  const { promise: released, resolve } = Promise.withResolvers<void>();
  Object.assign(store, {
    changesSince: async (revision: number) => {
      await released;
      return original(revision);
    },
  });
  return () => {
    Object.assign(store, { changesSince: original });
    resolve();
  };
}

for (const change of ['deleted', 'narrowed']) {
  test(`a key that was ${change} at one node gets nothing at another that hears of it with the request`, async () => {
    const { token, id } = (await one.api('POST', '/api_keys', { scopes: ['*'] })).body;
    const key = { key: token };
    const edge = (await one.api('POST', '/edges/https', { description: 'old' })).body;
    assert.equal((await two.api('GET', `/edges/https/${edge.id}`, undefined, key)).status, 200);
    const release = holdSecond();
    if (change === 'deleted') await one.api('DELETE', `/api_keys/${id}`);
    else await one.api('PATCH', `/api_keys/${id}`, { scopes: ['nodes:read'] });
    const renamed = await one.api('PATCH', `/edges/https/${edge.id}`, { description: 'later' });
    const later = (await one.api('POST', '/edges/https', {})).body;
    const headers = { 'if-match': renamed.headers.get('etag') ?? '' };
    const answers = Promise.all([
      two.api('PATCH', `/edges/https/${edge.id}`, { description: 'by the key' }, { ...key, headers }),
      two.api('GET', `/edges/https/${later.id}`, undefined, key),
      two.api('DELETE', `/edges/https/${later.id}`, undefined, key),
    ]);
    await new Promise((resolve) => setTimeout(resolve, 100));
    release();
    const expected = change === 'deleted' ? 401 : 403;
    assert.deepEqual(
      (await answers).map(({ status }) => status),
      [expected, expected, expected],
    );
    assert.equal((await one.api('GET', `/edges/https/${edge.id}`)).body.description, 'later');
  });
}

test('unknown keys and resources cost the database little', async () => {
  const { store } = two;
  const original = store.changesSince.bind(store);
  let reads = 0;
  Object.assign(store, {
    changesSince: async (revision: number) => {
      reads += 1;
      // A read that takes this long is shared by many requests, however slowly a busy machine sends them.
      await sleep(100);
      return original(revision);
    },
  });
  const unknown = Array.from({ length: 100 }, (_, n) => two.api('GET', '/nodes', undefined, { key: `unknown-${n}` }));
  const missing = Array.from({ length: 100 }, () => two.api('GET', '/edges/https/edghts_000000000000000000000000000'));
  const statuses = (await Promise.all([...unknown, ...missing])).map(({ status }) => status);
  Object.assign(store, { changesSince: original });
  assert.deepEqual(new Set(statuses), new Set([401, 404, 429]));
  assert.ok(reads < 100, `${reads} reads`);
});

test('with SQLite there is one node, without a peer listener', async (t) => {
  const alone = await TestWorld.open(t, { env: { POSTERN_NODE_NAME: 'alone' } });
  const { body } = await alone.api('GET', '/nodes');
  assert.equal(body.nodes.length, 1);
  assert.deepEqual([body.nodes[0].name, body.nodes[0].status, body.nodes[0].peer_address], ['alone', 'ready', null]);
  assert.equal(alone.server.addresses.peer, undefined);
  assert.deepEqual((await alone.api('GET', '/healthz?verbose')).body.peers, []);
});
