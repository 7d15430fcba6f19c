import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { suite, type TestContext, test } from 'node:test';
import { type ClientOptions, PosternClient, PosternConnectionError } from '../../src/client/index.ts';

const POLICY = { id: 'ipp_1', uri: '', created_at: '', description: '', metadata: '' };

interface Upstream {
  readonly client: PosternClient;
  readonly methods: string[];
  readonly url: string;
}

/** A server that sends the given responses one after the other, and then succeeds. */
async function upstream(
  t: TestContext,
  failures: readonly ((response: ServerResponse) => unknown)[],
  options: Partial<ClientOptions> = {},
): Promise<Upstream> {
  const methods: string[] = [];
  const queue = [...failures];
  const listener: RequestListener = (request, response) => {
    methods.push(request.method ?? '');
    const fail = queue.shift();
    if (fail !== undefined) fail(response);
    else {
      const headers = { 'content-type': 'application/json', 'postern-operation-id': 'op_1' };
      response.writeHead(200, headers).end(JSON.stringify(POLICY));
    }
  };
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = new PosternClient({ baseUrl: url, apiKey: 'k', retry: { baseDelayMs: 1 }, ...options });
  return { client, methods, url };
}

const reset = (response: ServerResponse): void => void response.socket?.destroy();
const busy = (response: ServerResponse): void => void response.writeHead(503).end('busy');
const never = (): void => undefined;

suite('retries', () => {
  test('repeats GET, PUT, DELETE and a POST with a key', async (t) => {
    const { client, methods } = await upstream(t, [reset, busy]);
    assert.equal((await client.ipPolicies.get('ipp_1')).id, 'ipp_1');
    assert.deepEqual(methods, ['GET', 'GET', 'GET']);
    for (const [method, call] of Object.entries({
      PUT: (each: PosternClient) => each.httpsEdges.mutualTls.replace('edghts_1'),
      DELETE: (each: PosternClient) => each.ipPolicies.delete('ipp_1'),
      POST: (each: PosternClient) => each.ipPolicies.create({}, { idempotencyKey: 'key' }),
    })) {
      const other = await upstream(t, [reset]);
      await call(other.client);
      assert.deepEqual(other.methods, [method, method]);
    }
  });

  test('does not repeat PATCH and POST without a key, nor anything on another status', async (t) => {
    const post = await upstream(t, [busy]);
    await assert.rejects(post.client.ipPolicies.create(), { status: 503, code: 'HTTP_503' });
    assert.equal(post.methods.length, 1);
    const patch = await upstream(t, [reset]);
    await assert.rejects(patch.client.ipPolicies.update('ipp_1', {}), PosternConnectionError);
    assert.equal(patch.methods.length, 1);
    const failed = await upstream(t, [(response) => response.writeHead(500).end()]);
    await assert.rejects(failed.client.ipPolicies.get('ipp_1'), { status: 500 });
    assert.equal(failed.methods.length, 1);
  });

  test('repeats a conditional write after a 503, but not after a lost connection', async (t) => {
    const lost = await upstream(t, [reset]);
    await assert.rejects(lost.client.ipPolicies.delete('ipp_1', { ifMatch: '"1"' }), PosternConnectionError);
    assert.equal(lost.methods.length, 1);
    const told = await upstream(t, [busy]);
    await told.client.ipPolicies.delete('ipp_1', { ifMatch: '"1"' });
    assert.equal(told.methods.length, 2);
  });

  test('stop at the limit', async (t) => {
    const { client, methods } = await upstream(t, Array<typeof busy>(9).fill(busy));
    await assert.rejects(client.ipPolicies.get('ipp_1', { maxRetries: 3 }), { status: 503 });
    assert.equal(methods.length, 4);
    await assert.rejects(client.ipPolicies.get('ipp_1', { maxRetries: 0 }), { status: 503 });
    assert.equal(methods.length, 5);
  });

  test('wait for Retry-After unless it is too long', async (t) => {
    const limited = (seconds: string) => (response: ServerResponse) =>
      response.writeHead(429, { 'retry-after': seconds }).end();
    const short = await upstream(t, [limited('1')]);
    const startedAt = performance.now();
    await short.client.ipPolicies.get('ipp_1');
    assert.ok(performance.now() - startedAt >= 990);
    const long = await upstream(t, [limited('3600')]);
    await assert.rejects(long.client.ipPolicies.get('ipp_1'), { status: 429, retryAfterMs: 3_600_000 });
    assert.equal(long.methods.length, 1);
  });
});

suite('no response', () => {
  test('reports a missing server as a network failure with its name', async () => {
    const client = new PosternClient({ baseUrl: 'http://127.0.0.1:2', apiKey: 'k', retry: { maxRetries: 0 } });
    await assert.rejects(client.ipPolicies.get('ipp_1'), {
      name: 'PosternConnectionError',
      failure: 'network',
      message: /cannot reach http:\/\/127\.0\.0\.1:2: .*/,
    });
  });

  test('reports a silent server as a timeout', async (t) => {
    const { client } = await upstream(t, [never], { timeoutMs: 30 });
    await assert.rejects(client.ipPolicies.get('ipp_1'), { name: 'PosternConnectionError', failure: 'timeout' });
  });

  test('distinguishes another program', async (t) => {
    const { client } = await upstream(t, [(response) => response.writeHead(200).end('<html>hello</html>')]);
    await assert.rejects(client.ipPolicies.get('ipp_1'), { failure: 'not_postern' });
  });

  test('distinguishes another program whose answers are JSON too', async (t) => {
    const json = (response: ServerResponse): unknown =>
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"status":"ok"}');
    const { client } = await upstream(t, [json, json]);
    const failure = { failure: 'not_postern', message: /is not the API of a Postern server/ };
    await assert.rejects(Array.fromAsync(client.ipPolicies.list()), failure);
    await assert.rejects(client.ipPolicies.get('ipp_1'), failure);
  });

  test('does not follow a redirect with the key', async (t) => {
    const { client, methods } = await upstream(t, [
      (response) => response.writeHead(302, { location: '/elsewhere' }).end(),
    ]);
    await assert.rejects(client.ipPolicies.create(), PosternConnectionError);
    assert.equal(methods.length, 1);
  });
});

suite('aborting', () => {
  test('ends a request in progress, with the given reason', async (t) => {
    const controller = new AbortController();
    const { client, methods } = await upstream(t, [() => controller.abort(new Error('enough'))]);
    await assert.rejects(client.ipPolicies.get('ipp_1', { signal: controller.signal }), /enough/);
    assert.deepEqual(methods, ['GET']);
  });

  test('ends the wait for a retry', async (t) => {
    const controller = new AbortController();
    const busyUntilAborted = (response: ServerResponse): void => {
      busy(response);
      // The client reads the response first. On a slow machine the abort may end that instead.
      response.once('close', () => setTimeout(() => controller.abort(), 50));
    };
    const { client, methods } = await upstream(t, [busyUntilAborted], { retry: { baseDelayMs: 15_000 } });
    await assert.rejects(client.ipPolicies.get('ipp_1', { signal: controller.signal }), { name: 'AbortError' });
    assert.deepEqual(methods, ['GET']);
  });

  test('before the call sends nothing', async (t) => {
    const { client, methods } = await upstream(t, []);
    await assert.rejects(client.ipPolicies.get('ipp_1', { signal: AbortSignal.abort() }), { name: 'AbortError' });
    assert.deepEqual(methods, []);
  });
});
