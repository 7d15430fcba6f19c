import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { FailedAuthenticationDelay } from '../../src/control/api/authentication.ts';
import {
  countByStatus,
  ENGINES,
  MovedClock,
  openRestartableWorld,
  openWorld,
  usePostgres,
} from '../concurrency/worlds.ts';
import { TEST_API_KEY, TestWorld } from '../support/test-world.ts';
import { makeKey } from './keys.ts';

usePostgres();

suite('authentication with API keys', () => {
  test('returns 401 without a key, with a malformed or an unknown one, and reveals nothing', async (t) => {
    const world = await TestWorld.open(t);
    for (const [method, path] of [
      ['GET', '/tunnels'],
      ['PUT', '/tunnels'],
      ['GET', '/nowhere'],
      ['GET', '/metrics'],
    ] as const) {
      const { status, headers, body } = await world.api(method, path, undefined, { key: null });
      assert.deepEqual([status, body.error_code], [401, 'ERR_POSTERN_UNAUTHENTICATED'], path);
      assert.equal(headers.get('www-authenticate'), 'Bearer');
    }
    const headers = [
      'Bearer',
      `Basic ${TEST_API_KEY}`,
      TEST_API_KEY,
      `Bearer ${TEST_API_KEY}x`,
      `Bearer ${TEST_API_KEY.slice(0, -1)}`,
      `Bearer ${TEST_API_KEY} ${TEST_API_KEY}`,
    ];
    for (const authorization of headers) {
      const answer = await world.api('GET', '/tunnels', undefined, { key: null, headers: { authorization } });
      assert.equal(answer.status, 401, authorization);
    }
    for (const path of ['/healthz', '/openapi.json', '/docs']) {
      assert.equal((await world.api('GET', path, undefined, { key: null, version: null })).status, 200);
    }
  });

  test('a web page that sends requests without a key from an address spends nothing of its budget', async (t) => {
    const world = await TestWorld.open(t);
    const image = { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'image' };
    const strange = Array.from({ length: 60 }, () =>
      world.api('GET', '/tunnels', undefined, { key: null, headers: image }),
    );
    assert.deepEqual(countByStatus(await Promise.all(strange)), { 401: 60 });
  });

  for (const path of ['/tunnels', '/nowhere', '/metrics']) {
    test(`delays failures at ${path}, rejects too many at once, and does not delay a valid key`, async (t) => {
      const world = await TestWorld.open(t);
      const failures = Array.from({ length: 60 }, () => world.api('GET', path, undefined, { key: 'wrong' }));
      const good = await world.api('GET', '/tunnels');
      assert.equal(good.status, 200);
      const answers = await Promise.all(failures);
      // 20 at once, 20 after a second's wait, and no more.
      assert.deepEqual(countByStatus(answers), { 401: 40, 429: 20 });
      for (const { status, headers } of answers) if (status === 429) assert.equal(headers.get('retry-after'), '5');
    });
  }

  test('an address has 20 free failures, gets one back every two seconds, and does not delay others', async () => {
    const clock = new MovedClock();
    clock.stop();
    let slept: number[] = [];
    const delay = new FailedAuthenticationDelay(clock, (ms) => {
      slept.push(ms);
      return Promise.resolve();
    });
    for (let failure = 0; failure < 20; failure += 1) await delay.wait('192.0.2.1');
    assert.deepEqual(slept, []);
    await delay.wait('192.0.2.1');
    assert.deepEqual(slept, [1000]);
    await delay.wait('192.0.2.2');
    assert.deepEqual(slept, [1000]);
    slept = [];
    clock.advance(4_000);
    for (let failure = 0; failure < 3; failure += 1) await delay.wait('192.0.2.1');
    assert.equal(slept.length, 2, 'two of the 21 were forgiven, so one more is free');
  });

  test('an IPv6 network counts as one address', async () => {
    const clock = new MovedClock();
    clock.stop();
    let slept = 0;
    const delay = new FailedAuthenticationDelay(clock, async () => {
      slept += 1;
    });
    for (let failure = 1; failure <= 21; failure += 1) await delay.wait(`2001:db8::${failure}`);
    assert.equal(slept, 1);
  });

  test('limits the rate of one key, and not of others', async (t) => {
    const clock = new MovedClock();
    clock.stop();
    const world = await TestWorld.open(t, { clock, env: { POSTERN_API_RATE_LIMIT: '5' } });
    const other = await makeKey(world);
    clock.advance(1_000);
    const answers = await Promise.all(Array.from({ length: 8 }, () => world.api('GET', '/tunnels')));
    assert.deepEqual(countByStatus(answers), { 200: 5, 429: 3 });
    const refused = answers.find(({ status }) => status === 429);
    assert.equal(refused?.headers.get('retry-after'), '1');
    assert.equal(refused?.body.error_code, 'ERR_POSTERN_RATE_LIMITED');
    assert.equal((await world.api('GET', '/tunnels', undefined, { key: other.token })).status, 200);
    clock.advance(200);
    assert.deepEqual(countByStatus([await world.api('GET', '/tunnels'), await world.api('GET', '/tunnels')]), {
      200: 1,
      429: 1,
    });
  });
});

for (const engine of ENGINES) {
  suite(`the bootstrap key on ${engine}`, () => {
    test('is not recreated after it was deleted, with POSTERN_API_KEY still set', async (t) => {
      const { world, restart } = await openRestartableWorld(t, engine);
      const successor = await makeKey(world);
      const { body } = await world.api('GET', '/api_keys');
      const bootstrap = body.keys.find(({ id }: { id: string }) => id !== successor.id);
      assert.equal((await world.api('DELETE', bootstrap.uri, undefined, { key: successor.token })).status, 204);
      assert.equal((await world.api('GET', '/api_keys')).status, 401);
      const again = await restart();
      assert.equal((await again.api('GET', '/api_keys')).status, 401);
      const keys = (await again.api('GET', '/api_keys', undefined, { key: successor.token })).body.keys;
      assert.deepEqual(
        keys.map(({ id }: { id: string }) => id),
        [successor.id],
      );
      assert.ok(again.logLines.some((line) => /api_key is ignored/.test(line)));
    });

    test('the last key with all scopes can be neither deleted nor narrowed, however many limited ones there are', async (t) => {
      const world = await openWorld(t, engine);
      const { body } = await world.api('GET', '/api_keys');
      const [last] = body.keys as { uri: string }[];
      await makeKey(world, ['api_keys:read', 'api_keys:write']);
      for (const [method, change] of [
        ['DELETE', undefined],
        ['PATCH', { scopes: ['edges:read'] }],
      ] as const) {
        const answer = await world.api(method, last?.uri as string, change);
        assert.deepEqual([answer.status, answer.body.error_code], [409, 'ERR_POSTERN_LAST_API_KEY']);
      }
      assert.equal((await world.api('PATCH', last?.uri as string, { description: 'may change' })).status, 200);
      await makeKey(world);
      assert.equal((await world.api('PATCH', last?.uri as string, { scopes: ['edges:read'] })).status, 200);
      assert.equal((await world.api('GET', '/api_keys')).status, 403);
    });
  });
}
