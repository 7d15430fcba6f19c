import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Operation } from '../../src/control/resources/operation.ts';
import { FURNISHED_ENV, FurnishedWorld, nameOf, operations, writeOperations } from '../conformance/furnished-world.ts';
import { EdgeWorld } from '../support/edge-world.ts';
import { logIn } from '../support/identity-provider.ts';
import { LoginWorld } from '../support/login-world.ts';
import { startOwnPostgres } from '../support/own-postgres.ts';
import { freshDatabase } from '../support/postgres.ts';
import type { ApiAnswer, TestWorld } from '../support/test-world.ts';

const DEADLINE_MS = 30_000;

/**
 * Lists of these resources have no upper bound, so they are only in the database. Everything else answers from memory.
 */
const NEEDS_DATABASE: ReadonlySet<string> = new Set([
  'changes.get',
  'changes.list',
  'changes.verify',
  'app_sessions.list',
  'app_sessions.get',
  'app_users.list',
  'app_users.get',
  'event_deliveries.list',
  'event_deliveries.get',
  'https_edge_routes.access.review',
]);
/** From memory once the directory of tunnels is wired. */
const LIVE: ReadonlySet<string> = new Set(['tunnels', 'tunnel_sessions', 'endpoints', 'tunnel_group']);
/**
 * These operations change nothing: questions about rules and requests, and a delivery that this server does not make.
 */
const CHANGES_NOTHING: ReadonlySet<string> = new Set([
  'backends.test',
  'https_edge_routes.access.test',
  'explain.request',
  'ip_policy_lists.refresh',
  'event_destinations.test',
]);
/**
 * What a node itself has seen: other nodes are asked over links, which these two do not have, and it changes all the
 * time.
 */
const OF_ONE_NODE: ReadonlySet<string> = new Set(['nodes', 'problems', 'requests', 'series', 'live', 'settings']);

const postgres = await startOwnPostgres();
after(() => postgres.close());
const { url: databaseUrl } = await freshDatabase(postgres);
// Furnished leases of agents are in the store; with peers, lists come from memory.
const env = { ...FURNISHED_ENV, POSTERN_SECRET_KEY: randomBytes(32).toString('base64'), POSTERN_PEER_LISTEN: 'off' };
// Nodes without links reject keys after five seconds (test/nodes/revocations.test.ts); this test takes its time.
const monotonicMs = (): number => 0;
const a = await LoginWorld.open({ after }, { env, databaseUrl, monotonicMs });
const b = a.servedBy(await EdgeWorld.open({ after }, env, { databaseUrl, clock: a.clock, monotonicMs }));
const furnished = await FurnishedWorld.furnish(a.edge.world);
const plain = await a.edge.site(await a.edge.staticBackend(a.upstreamAddress));
const login = await a.site();
await b.edge.world.server.replica.refresh();
const known = a.browser();
await known.logIn(login.host);
assert.equal((await known.at(b).open(login.host)).status, 200);
const policyId = (await a.edge.world.api('POST', '/ip_policies', { description: 'old' })).body.id;
const returning = a.browser();
const { url: toProvider } = await returning.upToProvider(login.host);
const back = await logIn(a.provider, toProvider as URL, 'alice', returning.jar);
const callback = `${back.pathname}${back.search}`;

for (const operation of writeOperations.filter(({ verb }) => verb.endsWith('.replace') || verb === 'replace')) {
  const { status, text } = await a.edge.world.api('PUT', furnished.path(operation), furnished.example(operation));
  assert.equal(status, 200, `${nameOf(operation)}: ${text}`);
}
const answers = new Map<Operation, ApiAnswer>();
for (const operation of operations.filter(({ method }) => method === 'GET')) {
  const answer = await a.edge.world.api('GET', furnished.path(operation));
  assert.equal(answer.status, 200, `${nameOf(operation)}: ${answer.text}`);
  answers.set(operation, answer);
}

/** Two nodes on one PostgreSQL, with one of everything, while the database is stopped and started again. */
suite('without the database', () => {
  test('traffic and running logins go on at every node', async () => {
    await postgres.end('SIGINT');
    for (const node of [a, b]) {
      const page = await node.edge.ask(plain.host, '/', { rejectUnauthorized: false });
      assert.equal(page.status, 200, page.text);
      const protectedPage = await known.at(node).open(login.host);
      assert.equal(protectedPage.status, 200, protectedPage.text);
    }
  });

  test('every resource is read from memory as before; unbounded lists say that they need the database', async () => {
    for (const [operation, before] of answers) {
      for (const node of [a, b]) {
        const answer = await node.edge.world.api('GET', furnished.path(operation));
        const name = `${nameOf(operation)}: ${answer.text}`;
        const isAway = NEEDS_DATABASE.has(nameOf(operation)) || (LIVE.has(operation.resource) && answer.status === 503);
        if (isAway) assertAway(answer, name);
        else if (node === a && !OF_ONE_NODE.has(operation.resource))
          assert.equal(withoutOperation(answer), withoutOperation(before), name);
        else if (node === a || operation.resource !== 'requests') assert.equal(answer.status, before.status, name);
      }
    }
  });

  test('every write gets 503 and says when to try again', async () => {
    for (const operation of writeOperations.filter((each) => !CHANGES_NOTHING.has(nameOf(each)))) {
      const body = operation.body === undefined ? undefined : furnished.example(operation);
      const answer = await a.edge.world.api(operation.method, furnished.path(operation), body);
      if (LIVE.has(operation.resource) && answer.status !== 503) continue;
      assertAway(answer, `${nameOf(operation)}: ${answer.text}`);
    }
  });

  test('a write gets 503 also where memory would say 404 or 412: another node may have changed it', async () => {
    const { world } = a.edge;
    const missing = '/ip_policies/ipp_000000000000000000000000000';
    const path = `/ip_policies/${policyId}`;
    for (const [method, at, headers] of [
      ['PATCH', path, { 'if-match': '"1"' }],
      ['DELETE', path, { 'if-match': '"1"' }],
      ['PATCH', missing, {}],
      ['DELETE', missing, {}],
    ] as const) {
      const body = method === 'PATCH' ? { description: 'new' } : undefined;
      const answer = await world.api(method, at, body, { headers });
      assertAway(answer, `${method} ${at}: ${answer.text}`);
    }
    // A read answers with what the node knows, but another node may have just created what it does not know.
    const unknown = await world.api('GET', missing);
    assertAway(unknown, `GET ${missing}: ${unknown.text}`);
    assert.equal((await world.api('GET', path)).status, 200);
  });

  test('a new login gets 503 and spends nothing', async () => {
    const page = await returning.open(login.host, callback);
    assert.deepEqual([page.status, page.headers['postern-error-code']], [503, 'ERR_POSTERN_LOGIN_UNAVAILABLE']);
    assert.match(String(page.headers['retry-after']), /^\d+$/);
  });

  test('/healthz says degraded, with 200', async () => {
    for (const node of [a, b]) {
      const { status, body } = await node.edge.world.api('GET', '/healthz');
      assert.deepEqual([status, body.status, body.error_code], [200, 'degraded', 'ERR_POSTERN_STORE_UNAVAILABLE']);
    }
  });

  test('when it is back, both nodes write, follow each other, and finish the login that waited', async () => {
    await postgres.start();
    for (const [writer, reader] of [
      [a, b],
      [b, a],
    ] as const) {
      const id = await untilCreated(writer.edge.world);
      await until(async () => (await reader.edge.world.api('GET', `/ip_policies/${id}`)).status === 200);
    }
    assert.equal((await returning.upToProvider(login.host, callback)).page.status, 200);
    assert.equal((await returning.at(b).open(login.host)).status, 200);
    await until(async () => (await b.edge.world.api('GET', '/healthz')).body.status === 'ready');
    for (const [operation, before] of answers) {
      if (operation.resource === 'requests') continue;
      const answer = await b.edge.world.api('GET', furnished.path(operation));
      assert.equal(answer.status, before.status, `${nameOf(operation)}: ${answer.text}`);
    }
  });
});

function withoutOperation({ status, text }: ApiAnswer): string {
  return `${status} ${text.replace(/"operation_id":"[^"]*"/, '')}`;
}

function assertAway({ status, headers, body }: ApiAnswer, name: string): void {
  assert.deepEqual([status, body.error_code], [503, 'ERR_POSTERN_STORE_UNAVAILABLE'], name);
  assert.match(body.msg, /the database could not be used|the store does not answer/, name);
  assert.match(headers.get('retry-after') ?? '', /^\d+$/, name);
}

async function untilCreated(world: TestWorld): Promise<string> {
  let created: ApiAnswer | null = null;
  const headers = { 'idempotency-key': randomBytes(8).toString('hex') };
  await until(async () => {
    created = await world.api('POST', '/ip_policies', {}, { headers });
    return created.status === 201;
  });
  return (created as ApiAnswer | null)?.body.id;
}

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS;
  while (!(await isTrue())) {
    assert.ok(Date.now() < deadline, 'it did not happen');
    await sleep(50);
  }
}
