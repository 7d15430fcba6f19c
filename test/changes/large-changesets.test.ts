import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { after, suite, test } from 'node:test';
import { until } from '../support/cluster.ts';
import { TEST_API_KEY, TestWorld } from '../support/test-world.ts';
import { TurnMeter } from './turn-meter.ts';

suite('large changesets', async () => {
  const world = await TestWorld.open({ after });
  const send = (body: object | string) =>
    world.api('POST', '/changesets', undefined, { rawBody: typeof body === 'string' ? body : JSON.stringify(body) });
  const unknown = { method: 'POST', path: '/nothing', body: { list: Array.from({ length: 40 }, (_, at) => ({ at })) } };

  test('are parsed and decoded in many turns', async () => {
    const rawBody = JSON.stringify({ operations: Array.from({ length: 10_000 }, () => unknown) });
    // Compiles what every body needs.
    await send({ operations: [unknown] });
    const meter = new TurnMeter();
    const { status, body } = await send(rawBody);
    const { busyTurns, totalMs } = meter.stop();
    assert.deepEqual([status, body.details.operation], [400, '0']);
    assert.ok(busyTurns >= 8, `${totalMs} ms in ${busyTurns} turns`);
  });

  test('name the place of a problem in the whole list', async () => {
    const operations = Array.from({ length: 250 }, (_, at) => ({ ...unknown, method: at === 230 ? 'GET' : 'POST' }));
    const claims = Array.from({ length: 250 }, (_, at) => ({ id: 'x', name: at === 240 ? 7 : 'x' }));
    for (const [body, field] of [
      [{ operations }, '/operations/230/method'],
      [{ operations: [], owner: { name: 'a', claims } }, '/owner/claims/240/name'],
      [{ operations: Array.from({ length: 50_001 }, () => 1) }, '/operations'],
    ] as const) {
      const answer = await send(body);
      assert.deepEqual([answer.status, answer.body.details.field], [400, field], answer.text);
    }
  });

  test('are rejected for what would have to be parsed in one turn', async () => {
    for (const [text, message] of [
      [`{"operations":["${'x'.repeat(1_200_000)}"]}`, /a single value of more than 1 MiB/],
      [`{"operations":[${'['.repeat(1_200_000)}`, /nested more than 128 levels/],
      [`{"operations":[${'1,'.repeat(600_000)}`, /is not valid JSON/],
      [`{"operations":[{"__proto__":1}],"a":"${'x'.repeat(1_048_570)}"}`, /is not valid JSON/],
    ] as const) {
      const { status, body } = await send(text);
      assert.deepEqual([status, body.error_code], [400, 'ERR_POSTERN_INVALID_JSON']);
      assert.match(body.msg, message);
    }
  });

  test('and other writes of a key that is deleted while their bodies arrive are rejected', async () => {
    const { host, port } = world.server.addresses.api;
    const write = { description: 'made by a deleted key' };
    const changeset = { operations: [{ method: 'POST', path: '/api_keys', body: write }] };
    for (const [path, text] of [
      ['/api_keys', JSON.stringify(write)],
      ['/changesets', JSON.stringify(changeset).padEnd(1_100_000)],
    ] as const) {
      const { id, token } = (await world.api('POST', '/api_keys', { description: 'leaked' })).body;
      const headers = {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'content-length': String(text.length),
        'service-version': '2',
        expect: '100-continue',
      };
      const sent = request({ host, port, method: 'POST', path, headers, agent: false });
      sent.flushHeaders();
      // The key has been checked.
      await once(sent, 'continue');
      assert.equal((await world.api('DELETE', `/api_keys/${id}`)).status, 204);
      sent.end(text);
      const [answer] = (await once(sent, 'response')) as [IncomingMessage];
      answer.resume();
      assert.equal(answer.statusCode, 401, path);
    }
    assert.doesNotMatch((await world.api('GET', '/api_keys')).text, /made by a deleted key/);
  });

  for (const [method, change, status] of [
    ['DELETE', undefined, 401],
    ['PATCH', { scopes: ['edges:read'] }, 403],
  ] as const) {
    test(`change nothing after a ${method} of their key that happens while they run`, async () => {
      const { id, token } = (await world.api('POST', '/api_keys', {})).body;
      const operations = Array.from({ length: 3_000 }, () => ({ method: 'POST', path: '/ip_policies', body: {} }));
      const rawBody = JSON.stringify({ operations });
      const running = world.api('POST', '/changesets', undefined, { key: token, rawBody });
      for (let round = 0; round < 3; round += 1) await world.api('GET', `/api_keys/${id}`);
      const { headers } = await world.api(method, `/api_keys/${id}`, change);
      const answer = await running;
      const isBefore = answer.body.revision < Number(headers.get('postern-revision'));
      assert.ok(answer.status === status || isBefore, `${answer.status} ${answer.body.revision}`);
    });
  }

  for (const verb of ['undo', 'revert']) {
    test(`are not taken back by ${verb} with a key that is deleted while it runs`, async () => {
      const operations = Array.from({ length: 3_000 }, () => ({ method: 'POST', path: '/ip_policies', body: {} }));
      const { revision } = (
        await world.api('POST', '/changesets', { operations, ...(verb === 'revert' && { confirm_within: '10m' }) })
      ).body;
      const { id, token } = (await world.api('POST', '/api_keys', {})).body;
      const running = world.api('POST', `/changes/${revision}/${verb}`, {}, { key: token });
      // Until the key has been checked.
      for (let round = 0; round < 3; round += 1) await world.api('GET', `/api_keys/${id}`);
      const { headers } = await world.api('DELETE', `/api_keys/${id}`);
      const answer = await running;
      const isBefore = answer.body.revision < Number(headers.get('postern-revision'));
      assert.ok(answer.status === 401 || answer.status === 409 || isBefore, `${answer.status} ${answer.body.revision}`);
      if (verb === 'revert') await world.api('POST', `/changes/${revision}/confirm`, {});
    });
  }

  test('wait outside while others of the key arrive', async () => {
    const upload = (): ClientRequest => {
      const { host, port } = world.server.addresses.api;
      const headers = {
        authorization: `Bearer ${TEST_API_KEY}`,
        'content-type': 'application/json',
        'service-version': '2',
        'content-length': '2000000',
      };
      const sent = request({ host, port, method: 'POST', path: '/changesets', headers, agent: false });
      sent.on('error', () => {});
      sent.flushHeaders();
      return sent;
    };
    const [first, second] = [upload(), upload()];
    const third = async (): Promise<IncomingMessage | null> => {
      const sent = upload();
      const answered = once(sent, 'response') as Promise<[IncomingMessage]>;
      const [answer] = (await Promise.race([answered, world.api('GET', '/changes')])) as [IncomingMessage?];
      sent.destroy();
      return answer ?? null;
    };
    let refused: IncomingMessage | null = null;
    await until('a third is refused', async () => {
      refused = await third();
      return refused !== null;
    });
    assert.deepEqual([refused?.['statusCode'], refused?.['headers']['retry-after']], [503, '10']);
    assert.equal((await send({ operations: [], dry_run: true })).status, 200, 'small ones are not counted');
    first.destroy();
    second.destroy();
    const rawBody = JSON.stringify({ operations: [], dry_run: true, message: 'x' }).padEnd(1_100_000);
    await until('a large one is accepted again', async () => (await send(rawBody)).status === 200);
  });
});
