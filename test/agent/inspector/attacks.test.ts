import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, test } from 'node:test';
import { type Asking, InspectorWorld } from './inspector-world.ts';

const world = await InspectorWorld.open({ after }, { allowedHosts: ['inspector.test', 'box.test:8443'] });
const { port } = world.inspector.address;
await world.pass('/secret', { headers: { authorization: 'Bearer abc' } });
const { id } = await world.newest();
const token = await world.token();
const write = { 'content-type': 'application/json', 'postern-inspector-token': token };

async function statusOf(path: string, asking: Asking): Promise<number> {
  return (await world.ask(path, asking)).status;
}

test('serves only local and configured host names (DNS rebinding)', async () => {
  const good = [
    `localhost:${port}`,
    `LOCALHOST:${port}`,
    `127.0.0.1:${port}`,
    `[::1]:${port}`,
    'inspector.test',
    'inspector.test:9999',
    'box.test:8443',
  ];
  const bad = [
    'evil.example',
    `evil.example:${port}`,
    'localhost',
    `localhost:${port + 1}`,
    `localhost.evil.example:${port}`,
    `127.0.0.1.nip.io:${port}`,
    `x.localhost:${port}`,
    `localhost:${port}@evil.example`,
    `evil.example#localhost:${port}`,
    `0.0.0.0:${port}`,
    'box.test',
    'box.test:9999',
    'notinspector.test',
    '',
  ];
  for (const path of ['/', '/api/status', `/api/requests/http/${id}`]) {
    for (const host of good) assert.equal(await statusOf(path, { headers: { host } }), 200, host);
    for (const host of bad) {
      const { status, body } = await world.ask(path, { headers: { host } });
      assert.ok(status === 403 || (host === '' && status === 400), `${host}: ${status}`);
      assert.doesNotMatch(body.toString(), new RegExp(`${token}|secret`));
    }
  }
});

test('rejects several Host headers, and a target with its own host', async () => {
  const own = `localhost:${port}`;
  assert.match(
    await raw(`GET /api/status HTTP/1.1\r\nHost: ${own}\r\nHost: evil.example\r\n\r\n`),
    /^HTTP\/1\.1 40[03] /,
  );
  assert.match(await raw(`GET http://evil.example/api/status HTTP/1.1\r\nHost: ${own}\r\n\r\n`), /^HTTP\/1\.1 400 /);
  assert.match(await raw(`GET http://evil.example/ HTTP/1.1\r\nHost: ${own}\r\n\r\n`), /^HTTP\/1\.1 400 /);
  assert.match(await raw(`OPTIONS * HTTP/1.1\r\nHost: ${own}\r\n\r\n`), /^HTTP\/1\.1 400 /);
  assert.match(await raw('GET / HTTP/1.0\r\n\r\n'), /^HTTP\/1\.1 403 /);
});

test('pages of other origins may neither read nor write, including other ports of this machine', async () => {
  const paths = ['/api/status', '/api/requests/http', `/api/requests/http/${id}`, '/api/events'];
  for (const headers of [
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'anything' },
    { origin: 'http://evil.example' },
    { origin: `http://localhost:${port + 1}` },
    { origin: `https://127.0.0.1:${port}` },
    { origin: 'null' },
  ]) {
    for (const path of paths) {
      const answer = await world.ask(path, { headers });
      assert.equal(answer.status, 403, JSON.stringify(headers));
      assert.equal(answer.headers['access-control-allow-origin'], undefined);
    }
    const order = { method: 'POST', headers: { ...write, ...headers }, body: JSON.stringify({ id }) };
    assert.equal(await statusOf('/api/requests/http', order), 403);
    assert.equal(await statusOf('/api/requests/http', { method: 'DELETE', headers: { ...write, ...headers } }), 403);
  }
  // A link to the page is harmless from anywhere, and its own origin may send requests.
  assert.equal(await statusOf('/', { headers: { 'sec-fetch-site': 'cross-site' } }), 200);
  const own = { origin: `http://127.0.0.1:${port}`, 'sec-fetch-site': 'same-origin' };
  assert.equal(await statusOf('/api/status', { headers: own }), 200);
  const proxied = { host: 'inspector.test', origin: 'https://inspector.test' };
  assert.equal(await statusOf('/api/status', { headers: proxied }), 200);
  assert.equal(world.seen.length, 1, 'nothing was replayed');
  assert.equal((await world.list()).length, 1, 'nothing was cleared');
});

test('does not answer a preflight of another origin', async () => {
  const headers = {
    origin: 'http://evil.example',
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'content-type, postern-inspector-token',
  };
  const answer = await world.ask('/api/requests/http', { method: 'OPTIONS', headers });
  assert.equal(answer.status, 403);
  assert.deepEqual(
    Object.keys(answer.headers).filter((name) => name.startsWith('access-control')),
    [],
  );
});

test("requires JSON and this process's token for writes", async () => {
  const body = JSON.stringify({ id });
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', '']) {
    const headers = { 'postern-inspector-token': token, ...(type !== '' && { 'content-type': type }) };
    assert.equal(await statusOf('/api/requests/http', { method: 'POST', headers, body }), 415, type);
  }
  for (const wrong of ['', 'x', `${token}x`, token.slice(1), token.toLowerCase()]) {
    const headers = { 'content-type': 'application/json', 'postern-inspector-token': wrong };
    assert.equal(await statusOf('/api/requests/http', { method: 'POST', headers, body }), 403);
    assert.equal(await statusOf('/api/requests/http', { method: 'DELETE', headers }), 403);
  }
  const missing = { 'content-type': 'application/json' };
  assert.equal(await statusOf('/api/requests/http', { method: 'POST', headers: missing, body }), 403);
  assert.equal(world.seen.length, 1);
  const other = await InspectorWorld.open({ after });
  assert.notEqual(await other.token(), token);
});

test('the token is in the page and nowhere in the API', async () => {
  for (const path of ['/api/status', '/api/tunnels', '/api/requests/http', `/api/requests/http/${id}`]) {
    const { body, headers } = await world.ask(path);
    assert.ok(!body.includes(token) && !JSON.stringify(headers).includes(token));
  }
});

test('nothing can be framed, sniffed, cached or embedded', async () => {
  for (const path of ['/', '/api/status', `/api/requests/http/${id}/body?side=response`, '/nothing']) {
    const { headers } = await world.ask(path);
    const policy = String(headers['content-security-policy']);
    assert.equal(headers['x-frame-options'], 'DENY');
    assert.match(policy, /frame-ancestors 'none'/);
    assert.match(policy, /default-src 'none'/);
    assert.doesNotMatch(policy, /unsafe|\*/);
    assert.equal(headers['x-content-type-options'], 'nosniff');
    assert.equal(headers['cache-control'], 'no-store');
    assert.equal(headers['cross-origin-resource-policy'], 'same-origin');
    assert.equal(headers['access-control-allow-origin'], undefined);
  }
});

test('allows only existing methods', async () => {
  for (const [path, method] of [
    ['/', 'POST'],
    ['/', 'HEAD'],
    ['/api/status', 'POST'],
    ['/api/requests/http', 'PUT'],
    [`/api/requests/http/${id}`, 'DELETE'],
    ['/api/events', 'PATCH'],
  ] as const) {
    const { status, headers } = await world.ask(path, { method, headers: write });
    assert.equal(status, 405, `${method} ${path}`);
    assert.match(headers.allow ?? '', /GET/);
  }
  for (const path of ['/api', '/api/', '/index.html', '/page/main.js', '//evil.example/', '/api/requests/http/a/b']) {
    assert.equal(await statusOf(path, {}), 404, path);
  }
});

test('rejects a request that is too large, not JSON, or has unknown fields', async () => {
  const post = (body: string) => world.ask('/api/requests/http', { method: 'POST', headers: write, body });
  assert.equal((await post(`{"id":"${'x'.repeat(2_000_000)}"}`)).status, 413);
  for (const body of [
    '',
    '{',
    '[]',
    'null',
    '{}',
    '{"id":1}',
    `{"id":"${id}","other":1}`,
    `{"id":"${id}","edit":[]}`,
    `{"id":"${id}","edit":{"body":"no base64!"}}`,
    `{"id":"${id}","edit":{"headers":{}}}`,
    `{"id":"${id}","edit":{"headers":[{"name":"a"}]}}`,
    `{"id":"${id}","edit":{"host":"x"}}`,
  ]) {
    assert.equal((await post(body)).status, 400, body);
  }
  assert.equal((await post('{"id":"req_unknown"}')).status, 404);
  assert.equal((await post(`{"id":"${id}","tunnel_name":"none"}`)).status, 404);
  assert.equal(world.seen.length, 1);
});

test('an edit cannot send a second request or other framing', async () => {
  const header = (name: string, value: string) => ({ headers: [{ name, value }] });
  const edits = [
    header('x-a', 'b\r\nx-injected: 1'),
    header('x-a', 'b\nx-injected: 1'),
    header('x-a', 'b\rc'),
    header('x-a', 'b\0c'),
    header('x-a', 'Ċx-injected: 1'),
    header('x-a: b\r\nx-injected', '1'),
    header('x a', '1'),
    header('', '1'),
    header(':path', '/other'),
    ...['Content-Length', 'transfer-encoding', 'Host', 'connection', 'upgrade', 'te', 'Trailer', 'expect'].map((name) =>
      header(name, '5'),
    ),
    { method: 'CONNECT' },
    { method: 'TRACE' },
    { method: 'GET / HTTP/1.1\r\nx: y' },
    { method: 'get' },
    { path: '/a b' },
    { path: '/a\r\nx-injected: 1' },
    { path: 'http://evil.example/' },
    { path: '' },
    { path: '*' },
    { path: '/é' },
    { path: '/a#b' },
    { path: `/${'a'.repeat(20_000)}` },
    header('authorization', 'Basic ••••••••'),
    header('x-other', '••••••••'),
    header('x-long', 'a'.repeat(70_000)),
  ];
  for (const edit of edits) {
    const { status, json } = await world.change('POST', { id, edit });
    assert.equal(status, 400, JSON.stringify(edit).slice(0, 200));
    assert.equal((json as { error: string }).error, 'bad_edit');
  }
  assert.equal(world.seen.length, 1);
  assert.equal((await world.list()).length, 1);
});

async function raw(text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.write(text);
  const [first] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  return first.toString();
}
