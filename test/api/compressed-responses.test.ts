import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { after, suite, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { TEST_API_KEY, TestWorld } from '../support/test-world.ts';

const world = await TestWorld.open({ after });
const headers = { authorization: `Bearer ${TEST_API_KEY}`, 'service-version': '2' };
for (let count = 0; count < 12; count += 1)
  await world.api('POST', '/ip_policies', { description: `policy ${count}`, metadata: 'x'.repeat(200) });

interface RawAnswer {
  readonly status: number | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly bytes: Buffer;
}

/** Without the decoding that fetch does. */
async function ask(path: string, more: Record<string, string> = {}, method = 'GET', body = ''): Promise<RawAnswer> {
  const sent = request(`${world.baseUrl}${path}`, { method, headers: { ...headers, ...more }, agent: false });
  sent.end(body);
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  return { status: answer.statusCode, headers: answer.headers, bytes: Buffer.concat(await answer.toArray()) };
}

suite('gzip', () => {
  for (const path of ['/metrics', '/docs', '/openapi.json', '/ip_policies', '/event_types']) {
    test(`${path} is sent in gzip to who accepts it`, async () => {
      const plain = await ask(path);
      const packed = await ask(path, { 'accept-encoding': 'br, gzip;q=0.5' });
      assert.equal(plain.headers['content-encoding'], undefined);
      assert.deepEqual([packed.status, packed.headers['content-encoding']], [200, 'gzip']);
      for (const { headers: sent } of [plain, packed]) assert.match(String(sent.vary), /accept-encoding/i);
      assert.equal(packed.headers['content-type'], plain.headers['content-type']);
      assert.equal(Number(packed.headers['content-length']), packed.bytes.length);
      assert.ok(packed.bytes.length < plain.bytes.length / 2);
      const text = gunzipSync(packed.bytes).toString();
      if (path === '/metrics') assert.ok(text.includes('\npostern_revision 15\n'));
      else assert.equal(text, plain.bytes.toString());
      const head = await ask(path, { 'accept-encoding': 'gzip' }, 'HEAD');
      assert.deepEqual([head.status, head.bytes.length, head.headers['content-encoding']], [200, 0, 'gzip']);
      assert.equal((await ask(path, { 'accept-encoding': 'gzip;q=0' })).headers['content-encoding'], undefined);
    });
  }

  test('a list of large objects is neither compressed nor serialized at once, with and without a filter', async () => {
    const body = '\u0001'.repeat(170_000);
    for (let count = 0; count < 6; count += 1) await world.api('POST', '/backends/http_response', { body });
    for (const query of ['', '?filter=obj.body!=""']) {
      const { headers: sent, bytes } = await ask(`/backends/http_response${query}`, { 'accept-encoding': 'gzip' });
      assert.deepEqual([sent['transfer-encoding'], sent['content-encoding']], ['chunked', undefined]);
      const { backends } = JSON.parse(bytes.toString());
      assert.deepEqual([backends.length, backends.every((each: { body: string }) => each.body === body)], [6, true]);
    }
  });

  test('what is short, shows a secret or comes with a cookie is not compressed', async () => {
    const gzip = { 'accept-encoding': 'gzip' };
    const created = { ...gzip, 'content-type': 'application/json' };
    const long = JSON.stringify({ description: 'a', metadata: 'y'.repeat(2000) });
    for (const [path, method, body] of [
      ['/api_keys?limit=1', 'GET', ''],
      ['/api_keys', 'POST', long],
      ['/credentials', 'POST', long],
    ] as const) {
      const answer = await ask(path, method === 'POST' ? created : gzip, method, body);
      assert.ok((answer.status ?? 0) < 300, answer.bytes.toString());
      assert.equal(answer.headers['content-encoding'], undefined, `${method} ${path}`);
    }
    const loggedIn = await ask(
      '/console/session',
      { ...created, origin: world.baseUrl },
      'POST',
      JSON.stringify({ api_key: TEST_API_KEY }),
    );
    assert.equal(loggedIn.status, 201, loggedIn.bytes.toString());
    const cookie = String(loggedIn.headers['set-cookie']?.[0]).split(';')[0] ?? '';
    const token = (JSON.parse(loggedIn.bytes.toString()) as { token: string }).token;
    const viewed = await new Promise<IncomingMessage>((settle) => {
      request(`${world.baseUrl}/ip_policies`, {
        headers: { ...gzip, cookie, 'service-version': '2', 'postern-console-token': token },
        agent: false,
      })
        .once('response', settle)
        .end();
    });
    viewed.resume();
    assert.deepEqual([viewed.statusCode, viewed.headers['content-encoding']], [200, undefined]);
  });
});
