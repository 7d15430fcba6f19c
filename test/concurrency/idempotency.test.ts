import assert from 'node:assert/strict';
import { before, suite, test } from 'node:test';
import type { ApiAnswer, TestWorld } from '../support/test-world.ts';
import {
  cleanupAfterSuite,
  countByStatus,
  ENGINES,
  FeedGate,
  inWorld,
  type Made,
  MovedClock,
  made,
  openRestartableWorld,
  openWorld,
  openWorldsOnOneDatabase,
  usePostgres,
} from './worlds.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

usePostgres();

const withKey = (key: string) => ({ headers: { 'idempotency-key': key } });
const idsOf = (answers: readonly ApiAnswer[]) =>
  new Set(answers.filter(({ status }) => status === 201).map(({ body }) => body.id));

for (const engine of ENGINES) {
  suite(`Idempotency-Key on ${engine}`, () => {
    const cleanup = cleanupAfterSuite();
    let world: TestWorld;

    before(async () => {
      world = await openWorld(cleanup, engine);
    });

    test('one of 32 concurrent equal creates succeeds, and the others replay it or wait', async () => {
      const send = () => world.api('POST', '/ip_policies', { description: 'once' }, withKey('k1'));
      const answers = await Promise.all(Array.from({ length: 32 }, send));
      for (const { status, body, headers } of answers) {
        if (status === 201) continue;
        assert.equal(status, 409);
        assert.equal(body.error_code, 'ERR_POSTERN_IDEMPOTENCY_IN_FLIGHT');
        assert.equal(headers.get('retry-after'), '1');
      }
      assert.equal(idsOf(answers).size, 1);
      const again = await send();
      assert.equal(again.status, 201);
      assert.equal(again.headers.get('idempotent-replayed'), 'true');
      assert.ok(idsOf(answers).has(again.body.id));
      assert.equal((await world.api('GET', '/ip_policies')).body.ip_policies.length, 1);
    });

    test('another body is 422, even at the same time, and changes nothing', async () => {
      const before = world.server.replica.count('ip_policy');
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_, at) =>
          world.api('POST', '/ip_policies', { description: `${at}` }, withKey('k2')),
        ),
      );
      const { 201: made, 409: inFlight = 0, 422: mismatched = 0 } = countByStatus(answers);
      assert.equal(made, 1);
      assert.equal(inFlight + mismatched, 7);
      const late = await world.api('POST', '/ip_policies', { description: 'late' }, withKey('k2'));
      assert.equal(late.status, 422);
      assert.equal(world.server.replica.count('ip_policy'), before + 1);
    });

    test('a key belongs to one API key, one path and one method', async () => {
      const other = (await world.api('POST', '/api_keys', {})).body.token as string;
      const first = await world.api('POST', '/ip_policies', {}, withKey('k3'));
      const second = await world.api('POST', '/ip_policies', {}, { ...withKey('k3'), key: other });
      const third = await world.api('POST', '/event_subscriptions', {}, withKey('k3'));
      assert.deepEqual([first.status, second.status, third.status], [201, 201, 201]);
      assert.notEqual(first.body.id, second.body.id);
    });

    test('a rejected create leaves the key free', async () => {
      assert.equal((await world.api('POST', '/backends/static', { address: 'nowhere' }, withKey('k4'))).status, 400);
      assert.equal(
        (await world.api('POST', '/backends/static', { address: 'a.example.com:80' }, withKey('k4'))).status,
        201,
      );
    });

    test('the key creates a new resource after 24 hours, and not a millisecond before', async (t) => {
      const clock = new MovedClock();
      clock.stop();
      const world = await openWorld(t, engine, { clock });
      const send = (body: object) => world.api('POST', '/ip_policies', body, withKey('k5'));
      const first = await send({});
      clock.advance(DAY_MS - 1);
      assert.equal((await send({})).body.id, first.body.id);
      assert.equal((await send({ description: 'other' })).status, 422);
      clock.advance(1);
      const later = await send({ description: 'other' });
      assert.equal(later.status, 201);
      assert.notEqual(later.body.id, first.body.id);
      assert.equal((await send({ description: 'other' })).body.id, later.body.id);
    });

    test('does not repeat a response with a token or secret: 409 names what was created', async () => {
      const creates: readonly (readonly [string, object])[] = [
        ['/api_keys', { scopes: ['edges:read'] }],
        ['/credentials', {}],
        ['/event_destinations', { target: { webhook: { url: 'https://hooks.example.com/x' } } }],
      ];
      for (const [path, body] of creates) {
        const first = made(await world.api('POST', path, body, withKey('k6')));
        const again = await world.api('POST', path, body, withKey('k6'));
        assert.equal(again.status, 409, path);
        assert.equal(again.body.error_code, 'ERR_POSTERN_IDEMPOTENCY_REPLAY');
        assert.equal(again.body.details.id, first.id);
      }
    });

    test('does not recreate a deleted resource under the same key', async () => {
      const policy = made(await world.api('POST', '/ip_policies', {}, withKey('k7')));
      await world.api('DELETE', policy.uri);
      const again = await world.api('POST', '/ip_policies', {}, withKey('k7'));
      assert.equal(again.status, 409);
      assert.equal(again.body.details.id, policy.id);
    });

    test('adds an event source once, and repeats the first response', async () => {
      const subscription = made(await world.api('POST', '/event_subscriptions', {}));
      const send = (type: string) => world.api('POST', `${subscription.uri}/sources`, { type }, withKey('k8'));
      const first = await send('ip_policy_created.v0');
      const again = await send('ip_policy_created.v0');
      assert.deepEqual([first.status, again.status], [201, 201]);
      assert.deepEqual(again.body, first.body);
      assert.equal(again.headers.get('idempotent-replayed'), 'true');
      assert.equal((await send('ip_policy_deleted.v0')).status, 422);
      await world.api('DELETE', first.body.uri);
      assert.equal((await send('ip_policy_created.v0')).status, 409);
      assert.deepEqual((await world.api('GET', `${subscription.uri}/sources`)).body.sources, []);
    });
  });
}

suite('Idempotency-Key across processes', () => {
  for (const engine of ENGINES) {
    test(`holds across a restart on ${engine}`, async (t) => {
      const { world, restart } = await openRestartableWorld(t, engine);
      const first = made(await world.api('POST', '/ip_policies', {}, withKey('k1')));
      const after = await restart();
      const again = await after.api('POST', '/ip_policies', {}, withKey('k1'));
      assert.equal(again.status, 201);
      assert.equal(again.body.id, first.id);
      assert.equal((await after.api('POST', '/ip_policies', { description: 'x' }, withKey('k1'))).status, 422);
    });
  }

  test('one of concurrent equal creates in two processes succeeds', async (t) => {
    const worlds = await openWorldsOnOneDatabase(t, 2);
    for (let round = 0; round < 5; round += 1) {
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_, at) =>
          (worlds[at % 2] as TestWorld).api('POST', '/ip_policies', { description: 'x' }, withKey(`round-${round}`)),
        ),
      );
      assert.equal(idsOf(answers).size, 1);
      for (const { status, body } of answers) {
        if (status !== 201) assert.equal(body.error_code, 'ERR_POSTERN_IDEMPOTENCY_IN_FLIGHT');
      }
    }
  });

  test('a process that has not received the resource yet replays it anyway', async (t) => {
    const [a, b] = (await openWorldsOnOneDatabase(t, 2)) as [TestWorld, TestWorld];
    const gate = new FeedGate(b);
    await b.server.replica.refresh();
    gate.shut();
    const first = made(await a.api('POST', '/ip_policies', {}, withKey('k1')));
    const again = b.api('POST', '/ip_policies', {}, withKey('k1'));
    setTimeout(() => gate.open(), 100);
    const { status, body } = await again;
    assert.equal(status, 201, JSON.stringify(body));
    assert.equal((body as Made).id, first.id);
    assert.equal((await b.api('GET', inWorld(b, first.uri))).status, 200);
  });
});
