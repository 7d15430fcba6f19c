import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { resources } from '../../src/control/resources/registry.ts';
import { FURNISHED_ENV, FurnishedWorld, nameOf, operations } from '../conformance/furnished-world.ts';
import { TestWorld } from '../support/test-world.ts';

const world = await TestWorld.open({ after }, { env: FURNISHED_ENV });
const furnished = await FurnishedWorld.furnish(world);
const edge = furnished.id('edghts');
const route = furnished.id('edghtsrt');
const compression = `/edges/https/${edge}/routes/${route}/compression`;

/** RFC 9110 §13.1.2. */
suite('If-None-Match', () => {
  test('a read of what the client has gets 304 without a body', async () => {
    await world.api('PUT', compression, { enabled: true });
    for (const path of [compression, `/edges/https/${edge}`, `/ip_policies/${furnished.id('ipp')}`]) {
      const whole = await world.api('GET', path);
      const etag = whole.headers.get('etag') ?? assert.fail(path);
      for (const known of [etag, `W/${etag}`, `"0", ${etag}`, '*', ` ${etag} `, `",",${etag}`, `, ,${etag},`]) {
        for (const method of ['GET', 'HEAD']) {
          const answer = await world.api(method, path, undefined, { headers: { 'if-none-match': known } });
          assert.deepEqual(
            [answer.status, answer.text, answer.headers.get('etag')],
            [304, '', etag],
            `${path} ${known}`,
          );
          assert.equal(answer.headers.get('cache-control'), 'no-store');
          assert.equal(answer.headers.get('postern-problem'), whole.headers.get('postern-problem'));
        }
      }
      for (const other of ['"1"', '"x"', 'W/"1"', '"1", "2"', '', 'W/"", ","', '"\u00e4"']) {
        const answer = await world.api('GET', path, undefined, { headers: { 'if-none-match': other } });
        assert.deepEqual([answer.status, answer.text], [200, whole.text], other);
      }
      for (const malformed of ['12', '"1" "2"', '"1', ',', '"1", x', 'w/"1"']) {
        const answer = await world.api('GET', path, undefined, { headers: { 'if-none-match': malformed } });
        assert.deepEqual([answer.status, answer.body.error_code], [400, 'ERR_POSTERN_INVALID_HEADER'], malformed);
      }
    }
  });

  test('a change makes it a whole response again', async () => {
    const path = `/ip_policies/${furnished.id('ipp')}`;
    const headers = { 'if-none-match': (await world.api('GET', path)).headers.get('etag') ?? '' };
    assert.equal((await world.api('GET', path, undefined, { headers })).status, 304);
    await world.api('PATCH', path, { description: 'changed' });
    assert.equal((await world.api('GET', path, undefined, { headers })).body.description, 'changed');
  });

  test('live fields change without the ETag, so a resource with them never gets 304', async () => {
    const path = `/backends/tunnel_group/${furnished.id('bkdtg')}`;
    const { headers } = await world.api('GET', path);
    const again = await world.api('GET', path, undefined, {
      headers: { 'if-none-match': headers.get('etag') ?? assert.fail() },
    });
    assert.deepEqual([again.status, Array.isArray(again.body.tunnels)], [200, true]);
  });

  test('every read with an ETag answers 304, except those with live fields', async () => {
    const whole: string[] = [];
    for (const operation of operations.filter(({ method }) => method === 'GET')) {
      const path = furnished.path(operation);
      const etag = (await world.api('GET', path)).headers.get('etag');
      if (etag === null) continue;
      const { status } = await world.api('GET', path, undefined, { headers: { 'if-none-match': etag } });
      if (status === 304) continue;
      assert.equal(status, 200);
      whole.push(nameOf(operation));
    }
    const live = resources.filter((resource) => resource.type === 'configuration' && resource.live !== undefined);
    assert.deepEqual(whole.sort(), live.map(({ name }) => `${name}.get`).sort());
  });

  test('with * a PUT creates and never replaces, and a PATCH changes nothing', async () => {
    const module = `/edges/https/${edge}/routes/${route}/ip_restriction`;
    const body = { enabled: false, ip_policy_ids: [] };
    const headers = { 'if-none-match': '*' };
    await world.api('DELETE', module);
    const [...answers] = await Promise.all([1, 2, 3, 4].map(() => world.api('PUT', module, body, { headers })));
    assert.deepEqual(
      answers.map(({ status }) => status).sort((one, other) => one - other),
      [200, 412, 412, 412],
    );
    const refused = answers.find(({ status }) => status === 412);
    assert.equal(refused?.body.error_code, 'ERR_POSTERN_PRECONDITION_FAILED');
    assert.match(refused?.body.msg, /If-None-Match/);
    for (const [method, path] of [
      ['PATCH', `/edges/https/${edge}`],
      ['PATCH', `/edges/https/${edge}/routes/${route}`],
      ['DELETE', `/edges/https/${edge}`],
      ['DELETE', module],
    ] as const) {
      const before = await world.api('GET', path);
      const answer = await world.api(method, path, method === 'PATCH' ? { description: 'never' } : undefined, {
        headers,
      });
      assert.equal(answer.status, 412, `${method} ${path}`);
      assert.equal((await world.api('GET', path)).text, before.text);
    }
    const missing = '/ip_policies/ipp_000000000000000000000000000';
    assert.equal((await world.api('PATCH', missing, {}, { headers })).status, 404);
  });

  test('with an ETag a write is refused while the resource has it', async () => {
    const path = `/ip_policies/${furnished.id('ipp')}`;
    const etag = (await world.api('GET', path)).headers.get('etag') ?? assert.fail();
    for (const known of [etag, `W/${etag}`]) {
      const same = await world.api('PATCH', path, { description: 'new' }, { headers: { 'if-none-match': known } });
      assert.equal(same.status, 412, known);
    }
    const other = await world.api('PATCH', path, { description: 'new' }, { headers: { 'if-none-match': '"1"' } });
    assert.equal(other.status, 200);
  });
});

test('Location of a 201 is the address of what was created', async () => {
  const creates = operations.filter(({ success }) => success.status === 201);
  assert.ok(creates.length > 10);
  for (const operation of creates) {
    const answer = await world.api('POST', furnished.path(operation), furnished.example(operation));
    if (answer.status !== 201) continue;
    const location = answer.headers.get('location');
    assert.equal(location, answer.body.uri, nameOf(operation));
    const read = await world.api('GET', location ?? assert.fail(nameOf(operation)));
    assert.equal(read.status, 200, nameOf(operation));
  }
});
