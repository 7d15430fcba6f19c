import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { after, test } from 'node:test';
import { EdgeWorld } from '../support/edge-world.ts';
import { MovableClock } from '../support/login-world.ts';
import { TestWorld } from '../support/test-world.ts';

const PER_MINUTE = 30;
const clock = new MovableClock();
const world = await TestWorld.open({ after }, { clock });
const seen: unknown[] = [];
const service = createServer((socket) => {
  socket.on('data', (bytes) => seen.push(bytes)).on('error', () => {});
  socket.write('220 a banner that nobody may see\r\n');
}).listen(0, '127.0.0.1');
after(() => service.close());
await once(service, 'listening');
const address = `127.0.0.1:${(service.address() as AddressInfo).port}`;
const ask = async (body: object, key?: string) =>
  world.api('POST', '/backends/test', body, key === undefined ? {} : { key });
const reasonFor = async (body: object): Promise<unknown> => (await ask(body)).body.reason;

test('a test says that an address is reachable, and shows nothing of the service', async () => {
  const answer = await ask({ address });
  assert.equal(answer.status, 200);
  assert.deepEqual(answer.body, { reachable: true, reason: null, advice: null });
  assert.deepEqual(seen, [], 'it sends nothing');
});

test('a test says why an address is not reachable, with advice', async () => {
  const closed = createServer().listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const { port } = closed.address() as AddressInfo;
  closed.close();
  await once(closed, 'close');
  const { body } = await ask({ address: `127.0.0.1:${port}` });
  assert.deepEqual([body.reachable, body.reason], [false, 'refused']);
  assert.match(body.advice, /start the service/);
  assert.equal(await reasonFor({ address: 'nowhere.invalid:80' }), 'dns');
  assert.equal(await reasonFor({ address, tls: true }), 'tls');
});

test('a test reaches no address that upstreams may not have', async () => {
  const own = new URL(world.baseUrl);
  for (const forbidden of ['169.254.169.254:80', '[fe80::1]:80', '0.0.0.0:80', `localhost:${own.port}`, own.host])
    assert.equal(await reasonFor({ address: forbidden }), 'forbidden_address', forbidden);
});

test('a test agrees with traffic about the API, which api_behind_edge publishes', async (t) => {
  for (const isBehind of [false, true]) {
    const edge = await EdgeWorld.open(t, { POSTERN_API_BEHIND_EDGE: String(isBehind) });
    const api = new URL(edge.world.baseUrl).host;
    const { host } = await edge.site(await edge.staticBackend(api));
    const { body } = await edge.world.api('POST', '/backends/test', { address: api });
    const { status } = await edge.ask(host, '/healthz');
    assert.deepEqual([body.reachable, status], isBehind ? [true, 200] : [false, 502]);
    const listener = await edge.world.api('POST', '/backends/test', { address: `127.0.0.1:${edge.port}` });
    assert.equal(listener.body.reason, 'forbidden_address');
  }
});

test('a test needs the scope to write backends, and an address', async () => {
  const { token } = (await world.api('POST', '/api_keys', { scopes: ['*:read'] })).body;
  assert.equal((await ask({ address }, token)).status, 403);
  const { status, body } = await ask({ address: 'no port' });
  assert.deepEqual([status, body.error_code, body.details.field], [400, 'ERR_POSTERN_INVALID_BODY', '/address']);
});

test('tests are limited per minute', async () => {
  clock.advance(60);
  let answer = await ask({ address });
  let passed = 0;
  // A slow machine earns a few more meanwhile.
  for (; answer.status === 200 && passed < 2 * PER_MINUTE; passed += 1) answer = await ask({ address });
  assert.ok(passed >= PER_MINUTE, `${passed}`);
  assert.deepEqual([answer.status, answer.body.error_code], [429, 'ERR_POSTERN_TOO_MANY_TESTS']);
  assert.match(String(answer.headers.get('retry-after')), /^[12]$/);
  clock.advance(2);
  assert.equal((await ask({ address })).status, 200);
});
