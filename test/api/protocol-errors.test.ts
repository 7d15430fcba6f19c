import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, METHODS } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { after, test } from 'node:test';
import { answerProtocolErrors } from '../../src/control/api/protocol-errors.ts';
import { startingApi } from '../../src/control/api/starting-api.ts';
import { assertApiError, type ExpectedError } from '../conformance/api-error.ts';
import { tempDir } from '../support/temp-dir.ts';
import { type ApiAnswer, TEST_API_KEY, TestWorld } from '../support/test-world.ts';

const world = await TestWorld.open({ after });
const AUTHORIZED = `Host: api\r\nAuthorization: Bearer ${TEST_API_KEY}\r\nService-Version: 2\r\n`;
const MALFORMED: ExpectedError = { status: 400, code: 'ERR_POSTERN_BAD_REQUEST' };
const OWN_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

test('answers every HTTP method that the API does not support with 405 and Allow', async () => {
  for (const method of METHODS.filter((each) => !OWN_METHODS.includes(each))) {
    const request = (path: string): string => `${method} ${path} HTTP/1.1\r\n${AUTHORIZED}Connection: close\r\n\r\n`;
    const answer = await exchange(request('/healthz'));
    assertApiError(answer, { status: 405, code: 'ERR_POSTERN_METHOD_NOT_ALLOWED', says: method });
    assert.equal(answer.headers.get('allow'), 'GET, HEAD, OPTIONS', method);
    assert.equal(
      (await exchange(request('/api_keys?limit=1'))).headers.get('allow'),
      'GET, HEAD, OPTIONS, POST',
      method,
    );
    assertApiError(await exchange(request('/nothing')), { status: 404, code: 'ERR_POSTERN_UNKNOWN_PATH' });
  }
});

test('the message to a rejected key says what is wrong with it, and recognizes a preset token of an agent', async (t) => {
  const authtoken = 'preset-token-of-an-agent-0123456789abcdef';
  const preset = await TestWorld.open(t, { env: { POSTERN_AUTHTOKEN: authtoken } });
  const refused = async (key: string | null) => (await preset.api('GET', '/api_keys', undefined, { key })).body.msg;
  assert.match(await refused(authtoken), /^this is the token of an agent, not an API key: .*first-api-key/);
  assert.match(await refused('x'.repeat(40)), /^the API key is not known: it is mistyped, was deleted/);
  assert.match(await refused(null), /send "Authorization: Bearer <API key>"$/);
  for (const key of [authtoken, 'x'.repeat(40)]) assert.doesNotMatch(await refused(key), /Authorization/);
});

test('OPTIONS lists no method of a path that only looks like an id', async () => {
  const { headers } = await world.api('OPTIONS', '/event_deliveries/replay');
  assert.equal(headers.get('allow'), 'OPTIONS, POST');
});

test('public pages answer an unknown method with 405 without a key, everything else with 401', async () => {
  for (const method of ['QUERY', 'POST', 'TRACE']) {
    const request = (path: string): string => `${method} ${path} HTTP/1.1\r\nHost: api\r\nConnection: close\r\n\r\n`;
    assertApiError(await exchange(request('/healthz')), { status: 405 });
    const refused = await exchange(request('/api_keys/x'));
    assertApiError(refused, { status: 401, code: 'ERR_POSTERN_UNAUTHENTICATED' });
    assert.equal(refused.headers.get('www-authenticate'), 'Bearer');
    assertApiError(await exchange(request('/nothing')), { status: 401 });
  }
});

test('answers methods that the HTTP parser rejects with 405, 404 or 400', async () => {
  for (const method of ['FOO', 'get', 'GETT', 'M_X', 'X!']) {
    const known = await exchange(`${method} /healthz HTTP/1.1\r\n${AUTHORIZED}\r\n`);
    assertApiError(known, { status: 405, code: 'ERR_POSTERN_METHOD_NOT_ALLOWED', says: method });
    assert.equal(known.headers.get('allow'), 'GET, HEAD, OPTIONS');
    const unknown = await exchange(`${method} /nothing HTTP/1.1\r\n${AUTHORIZED}\r\n`);
    assertApiError(unknown, { status: 404, code: 'ERR_POSTERN_UNKNOWN_PATH' });
  }
  for (const bytes of ['FOO', `FOO /healthz\r\n\r\n`, '(GET) / HTTP/1.1\r\n\r\n', '\u0016\u0003\u0001\u0002hello'])
    assertApiError(await exchange(bytes), MALFORMED);
});

test('answers malformed requests with a JSON error and closes the connection', async () => {
  for (const bytes of [
    `GET /healthz\r\nHost: api\r\n\r\n`,
    `GET /healthz HTTP/9.9\r\nHost: api\r\n\r\n`,
    `GET /healthz HTTP/1.1\r\nHost: api\r\nBad Header: x\r\n\r\n`,
    `GET /healthz HTTP/1.1\r\nHost: api\r\nX: a\u0000b\r\n\r\n`,
    `POST /api_keys HTTP/1.1\r\n${AUTHORIZED}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`,
    `POST /api_keys HTTP/1.1\r\n${AUTHORIZED}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}`,
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  ])
    assertApiError(await exchange(bytes), MALFORMED);
});

test('answers a request without Host with a JSON error', async () => {
  assertApiError(await exchange('GET /healthz HTTP/1.1\r\n\r\n'), { ...MALFORMED, says: 'Host' });
  assert.equal((await exchange('GET /healthz HTTP/1.0\r\n\r\n')).status, 200);
});

test('answers over-long headers and addresses with 431', async () => {
  const expected = { status: 431, code: 'ERR_POSTERN_API_HEADERS_TOO_LARGE' };
  assertApiError(await exchange(`GET /healthz HTTP/1.1\r\nHost: api\r\nX: ${'x'.repeat(200_000)}\r\n\r\n`), expected);
  assertApiError(await exchange(`GET /${'x'.repeat(200_000)} HTTP/1.1\r\nHost: api\r\n\r\n`), expected);
});

test('answers an expectation that it cannot meet with 417', async () => {
  const request = (expectation: string): string =>
    `POST /api_keys HTTP/1.1\r\n${AUTHORIZED}Content-Type: application/json\r\nContent-Length: 2\r\nExpect: ${expectation}\r\nConnection: close\r\n\r\n{}`;
  assertApiError(await exchange(request('a-miracle')), { status: 417, code: 'ERR_POSTERN_EXPECTATION' });
  assert.match(await rawExchange(request('100-continue')), /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 201 /);
});

test('ignores an upgrade that it does not support, and answers CONNECT with an error', async () => {
  const upgrade = 'Connection: Upgrade, close\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n\r\n';
  assert.equal((await exchange(`GET /api_keys HTTP/1.1\r\n${AUTHORIZED}${upgrade}`)).status, 200);
  assertApiError(await exchange(`GET /nothing HTTP/1.1\r\n${AUTHORIZED}${upgrade}`), { status: 404 });
  const tunnel = (target: string): string => `CONNECT ${target} HTTP/1.1\r\n${AUTHORIZED}\r\n`;
  assertApiError(await exchange(tunnel('example.com:443')), { status: 404 });
  assertApiError(await exchange(tunnel('/healthz')), { status: 405 });
});

test('answers a body whose chunks are malformed with an error, and logs no failure of its own', async () => {
  const request = `POST /api_keys HTTP/1.1\r\n${AUTHORIZED}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`;
  assertApiError(await exchange(`${request}zz\r\n`), MALFORMED);
  const socket = await open();
  socket.end(`${request}5\r\n{"des`);
  await once(socket.resume(), 'close');
  assert.deepEqual(
    world.logLines.filter((line) => line.includes('request failed')),
    [],
  );
});

test('never answers a malformed request before the pipelined one that is still being served', async () => {
  const text = await rawExchange(
    `POST /api_keys HTTP/1.1\r\n${AUTHORIZED}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}\0\0\r\n\r\n`,
  );
  assert.ok(text === '' || text.startsWith('HTTP/1.1 201 '), text);
});

test('logs what the parser rejected, with the operation id of the answer', async () => {
  const answer = await exchange('nonsense\r\n\r\n');
  const id = answer.headers.get('postern-operation-id') as string;
  const [line = ''] = world.logLines.filter((each) => each.includes(id));
  assert.equal(JSON.parse(line).status, 400);
});

test('answers a request that does not arrive in time with 408', async (context) => {
  const server = createServer({ headersTimeout: 50, requestTimeout: 100, connectionsCheckingInterval: 20 });
  const { handle, protocolErrors } = startingApi({ nowMs: () => Date.now() });
  answerProtocolErrors(server, () => protocolErrors);
  server.on('request', handle);
  context.after(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const answer = await exchange('GET /healthz HTTP/1.1\r\nHost: a', server.address() as AddressInfo);
  assertApiError(answer, { status: 408, code: 'ERR_POSTERN_API_REQUEST_TIMEOUT' });
});

test('answers 503 until the first API key is created, never 401 to the right one', async (context) => {
  const dataDir = await tempDir(context);
  const holder = createServer();
  await once(holder.listen(0, '127.0.0.1'), 'listening');
  const { port } = holder.address() as AddressInfo;
  await new Promise((resolve) => holder.close(resolve));
  const starting = TestWorld.open(context, { dataDir, env: { POSTERN_API_LISTEN: `127.0.0.1:${port}` } });
  const answers: ApiAnswer[] = [];
  while (answers.at(-1)?.status !== 200 && answers.length < 10_000) {
    const answer = await exchange(`GET /api_keys HTTP/1.1\r\n${AUTHORIZED}\r\n`, { port }).catch(() => null);
    if (answer !== null) answers.push(answer);
  }
  await starting;
  const early = answers.slice(0, -1);
  for (const answer of early) assertApiError(answer, { status: 503, code: 'ERR_POSTERN_STARTING' });
  assert.equal(early[0]?.headers.get('retry-after'), '1');
});

function roomOrClosed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      socket.off('drain', done).off('close', done);
      resolve();
    };
    socket.on('drain', done).on('close', done);
  });
}

/** Sends a body as many clients do: all of it, before it reads. */
async function sendFirst(framing: string, body: Iterable<Buffer>): Promise<string> {
  const socket = await open();
  let failure: Error | null = null;
  socket.on('error', (error) => {
    failure = error;
  });
  socket.pause();
  socket.write(`PUT /ip_policies/ipp_x HTTP/1.1\r\n${AUTHORIZED}Content-Type: application/json\r\n${framing}\r\n\r\n`);
  for (const piece of body) {
    if (socket.destroyed) break;
    if (!socket.write(piece)) await roomOrClosed(socket);
  }
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk)).resume();
  while (!socket.closed) await roomOrClosed(socket);
  return failure === null ? Buffer.concat(chunks).toString() : String(failure);
}

test('a client that sends a body above the limit before it reads gets its 413, and then the connection ends', async () => {
  const megabyte = Buffer.alloc(1_000_000, 'x');
  const chunk = Buffer.concat([Buffer.from(`${megabyte.length.toString(16)}\r\n`), megabyte, Buffer.from('\r\n')]);
  const megabytes = (count: number, piece = megabyte): Buffer[] => Array.from({ length: count }, () => piece);
  for (let round = 0; round < 10; round += 1) {
    const whole = await sendFirst('Content-Length: 5000000', megabytes(5));
    assert.match(whole, /^HTTP\/1\.1 413 [\s\S]*connection: close[\s\S]*"ERR_POSTERN_BODY_TOO_LARGE"/i, whole);
    const chunked = await sendFirst('Transfer-Encoding: chunked', [...megabytes(5, chunk), Buffer.from('0\r\n\r\n')]);
    assert.match(chunked, /^HTTP\/1\.1 413 [\s\S]*"ERR_POSTERN_BODY_TOO_LARGE"/, chunked);
  }
  const body = Buffer.alloc(50_000_000, 'x');
  const headers = {
    authorization: `Bearer ${TEST_API_KEY}`,
    'service-version': '2',
    'content-type': 'application/json',
  };
  for (let round = 0; round < 5; round += 1) {
    const answer = await fetch(`${world.baseUrl}/ip_policies/ipp_x`, { method: 'PUT', headers, body });
    assert.equal(answer.status, 413);
    await answer.text();
  }
});

test('a client that never stops sending is disconnected', async () => {
  function* endless(): Iterable<Buffer> {
    const piece = Buffer.alloc(1 << 20, 'x');
    for (let sent = 0; sent < 1 << 30; sent += piece.length) yield piece;
    assert.fail('1 GiB was read');
  }
  await sendFirst(`Content-Length: ${1 << 30}`, endless());
});

async function open(address: { readonly port: number } = world.server.addresses.api): Promise<Socket> {
  const { port } = address;
  const socket = connect({ host: '127.0.0.1', port });
  await once(socket, 'connect');
  return socket;
}

async function rawExchange(bytes: string, address?: { readonly port: number }): Promise<string> {
  const socket = await open(address);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  socket.write(Buffer.from(bytes, 'latin1'));
  await once(socket, 'close');
  return Buffer.concat(chunks).toString();
}

/** One request on its own connection, which the server must close. */
async function exchange(bytes: string, address?: { readonly port: number }): Promise<ApiAnswer> {
  const received = await rawExchange(
    /\r\n\r\n/.test(bytes) ? bytes.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n') : bytes,
    address,
  );
  const [head = '', text = ''] = received.split('\r\n\r\n', 2);
  const [statusLine = '', ...fields] = head.split('\r\n');
  const headers = new Headers(fields.map((field) => field.split(/: (.*)/s, 2) as [string, string]));
  assert.equal(
    headers.get('connection'),
    'close',
    `${JSON.stringify(bytes.slice(0, 100))} got ${received.slice(0, 300)}`,
  );
  if (headers.has('content-length')) assert.equal(headers.get('content-length'), String(Buffer.byteLength(text)));
  const isJson = headers.get('content-type')?.startsWith('application/json') === true && text !== '';
  return { status: Number(statusLine.split(' ')[1]), headers, text, body: isJson ? JSON.parse(text) : null };
}
