import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { after, suite, test } from 'node:test';
import { loadConfig } from '../../src/app/settings/load.ts';
import { assertApiError } from '../conformance/api-error.ts';
import { chromiumPath, launchChromium } from '../support/chromium.ts';
import { TEST_API_KEY, TestWorld } from '../support/test-world.ts';

const page = createServer((_request, response) => {
  response.setHeader('content-type', 'text/html').end('<!doctype html><title>A page</title>');
}).listen(0, '127.0.0.1');
await once(page, 'listening');
after(() => page.close());
const { port } = page.address() as AddressInfo;
/** Two origins of one page. */
const FRIEND = `http://127.0.0.1:${port}`;
const STRANGER = `http://localhost:${port}`;
const plain = await TestWorld.open({ after });
const open = await TestWorld.open({ after }, { env: { POSTERN_API_CORS_ORIGINS: `${FRIEND},https://x.example` } });

suite('OPTIONS', () => {
  test('answers 204 with the methods of the path', async () => {
    for (const [path, allow] of [
      ['/edges/https', 'GET, HEAD, OPTIONS, POST'],
      ['/edges/https/edghts_x', 'DELETE, GET, HEAD, OPTIONS, PATCH'],
      ['/edges/https/edghts_x/routes/edghtsrt_x/oidc', 'DELETE, GET, HEAD, OPTIONS, PUT'],
      ['/healthz?verbose', 'GET, HEAD, OPTIONS'],
      ['/console/session', 'DELETE, GET, HEAD, OPTIONS, POST'],
    ] as const) {
      const answer = await plain.api('OPTIONS', path);
      assert.deepEqual([answer.status, answer.headers.get('allow'), answer.text], [204, allow, ''], path);
      assert.match(answer.headers.get('postern-operation-id') ?? '', /^op_/);
    }
    assertApiError(await plain.api('OPTIONS', '/nothing'), { status: 404, code: 'ERR_POSTERN_UNKNOWN_PATH' });
  });

  test('without a key it tells only about public pages', async () => {
    assert.equal((await plain.api('OPTIONS', '/healthz', undefined, { key: null })).status, 204);
    for (const path of ['/edges/https', '/nothing'])
      assertApiError(await plain.api('OPTIONS', path, undefined, { key: null }), { status: 401 });
  });

  test('* asks about the server', async () => {
    const { hostname, port: apiPort } = new URL(plain.baseUrl);
    const socket = connect(Number(apiPort), hostname);
    socket.end('OPTIONS * HTTP/1.1\r\nHost: api\r\nConnection: close\r\n\r\n');
    const text = Buffer.concat(await socket.toArray()).toString();
    assert.match(text, /^HTTP\/1.1 204 /);
    assert.match(text, /^allow: .*PATCH/im);
  });
});

suite('pages of other origins', () => {
  const preflight = (world: TestWorld, origin: string, path = '/edges/https') =>
    world.api('OPTIONS', path, undefined, {
      key: null,
      version: null,
      headers: { origin, 'access-control-request-method': 'PUT', 'access-control-request-headers': 'authorization' },
    });

  test('are not allowed by default', async () => {
    assertApiError(await preflight(plain, FRIEND), { status: 401 });
    const answer = await plain.api('GET', '/edges/https', undefined, { headers: { origin: FRIEND } });
    assert.equal(answer.status, 200);
    assert.deepEqual(corsHeaders(answer.headers), []);
    assert.doesNotMatch(answer.headers.get('vary') ?? '', /origin/i);
  });

  test('are allowed by api_cors_origins, never with cookies, and every response varies on Origin', async () => {
    const allowed = await preflight(open, FRIEND);
    assert.equal(allowed.status, 204);
    assert.equal(allowed.headers.get('access-control-allow-origin'), FRIEND);
    assert.match(allowed.headers.get('access-control-allow-methods') ?? '', /PUT/);
    assert.equal(await preflight(open, FRIEND, '/nothing').then(({ status }) => status), 204, 'it tells no paths');
    for (const [path, headers, status] of [
      ['/edges/https', { origin: FRIEND }, 200],
      ['/edges/https', { origin: FRIEND, 'accept-encoding': 'gzip' }, 200],
      ['/edges/https/nothing', { origin: FRIEND }, 404],
      ['/nothing', { origin: FRIEND }, 404],
      ['/metrics', { origin: FRIEND }, 200],
      ['/docs', { origin: FRIEND }, 200],
      ['/openapi.json', { origin: FRIEND }, 200],
      ['/edges/https', { origin: FRIEND, authorization: 'Bearer wrong' }, 401],
    ] as const) {
      const answer = await open.api('GET', path, undefined, { headers });
      assert.equal(answer.status, status, path);
      assert.equal(answer.headers.get('access-control-allow-origin'), FRIEND, path);
      assert.match(answer.headers.get('access-control-expose-headers') ?? '', /etag.*postern-operation-id/);
      assert.equal(answer.headers.get('access-control-allow-credentials'), null);
      const vary = (answer.headers.get('vary') ?? '').split(', ');
      assert.equal(vary.filter((name) => name === 'origin').length, 1, `${path}: ${vary.join()}`);
      assert.equal(new Set(vary).size, vary.length, `${path}: ${vary.join()}`);
      if (path !== '/edges/https/nothing' && status === 200)
        assert.match(answer.headers.get('vary') ?? '', /accept-encoding/i, path);
    }
    for (const origin of [STRANGER, 'null', '*', `${FRIEND}.evil.example`, '']) {
      assertApiError(await preflight(open, origin), { status: 401 });
      const answer = await open.api('GET', '/edges/https', undefined, { headers: { origin } });
      assert.deepEqual([answer.status, corsHeaders(answer.headers)], [200, []], origin);
      assert.match(answer.headers.get('vary') ?? '', /origin/i);
    }
  });

  test('have no part in the console', async () => {
    for (const path of ['/console/session', '/console', '/console/config', '/%63onsole', '/%63onsole/%73ession']) {
      assert.deepEqual(corsHeaders((await preflight(open, FRIEND, path)).headers), [], path);
      const answer = await open.api('GET', path, undefined, { headers: { origin: FRIEND } });
      assert.deepEqual(corsHeaders(answer.headers), [], path);
    }
  });

  test('a browser lets the page use the API with a key, and no other page', async (t) => {
    const browser = await launchChromium(t, chromiumPath() ?? assert.fail('Chromium is missing'), []);
    const visit = async (origin: string): Promise<unknown> => {
      const tab = await browser.newPage();
      await tab.goto(origin);
      return tab.evaluate(
        `fetch(${JSON.stringify(`${open.baseUrl}/ip_policies`)}, {
          method: 'POST', body: '{}',
          headers: { authorization: 'Bearer ${TEST_API_KEY}', 'service-version': '2', 'content-type': 'application/json', 'idempotency-key': 'a' },
        }).then(({ status, headers }) => [status, headers.get('location') !== null, headers.get('etag') !== null], String)`,
      );
    };
    assert.deepEqual(await visit(FRIEND), [201, true, true]);
    assert.match(String(await visit(STRANGER)), /Failed to fetch/);
  });

  test('the setting takes origins only', () => {
    for (const value of ['*', 'https://x.example/', 'x.example', 'https://X.example', 'null', 'https://*.x.example/a'])
      assert.throws(
        () => loadConfig({ flags: new Map(), env: { POSTERN_API_CORS_ORIGINS: value } }),
        /api_cors_origins/,
        value,
      );
  });
});

function corsHeaders(headers: Headers): string[] {
  return [...headers.keys()].filter((name) => name.startsWith('access-control-'));
}
