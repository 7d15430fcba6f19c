import assert from 'node:assert/strict';
import { once } from 'node:events';
import { constants, type OutgoingHttpHeaders } from 'node:http2';
import { after, test } from 'node:test';
import { EdgeWorld } from '../../support/edge-world.ts';
import { recordingUpstream } from './recording-upstream.ts';

/** HTTP/1.1 and HTTP/2 accept and reject the same requests. */
const upstream = await recordingUpstream({ after });
const edge = await EdgeWorld.open({ after });
const { host } = await edge.site(await edge.staticBackend(upstream.address));
const LIMIT_BYTES = 32_768;
const LIMIT_COUNT = 100;

/** Status and code of the same request over each protocol; without further headers, which clients add. */
async function both(
  method: string,
  path: string,
  fields: Readonly<Record<string, string>>,
): Promise<readonly [http1: string, http2: string]> {
  const socket = await edge.connect(host);
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`${method} ${path} HTTP/1.1\r\nhost: ${host}\r\n${lines.join('')}\r\n`);
  let text = '';
  while (!text.includes('\r\n\r\n')) text += String((await once(socket, 'data'))[0]);
  socket.destroy();
  const code = /postern-error-code: (\S+)/i.exec(text)?.[1] ?? '';
  return [
    `${text.slice(9, 12)} ${code}`,
    await overHttp2({ ':method': method, ':authority': host, ':path': path, ...fields }),
  ];
}

async function overHttp2(headers: OutgoingHttpHeaders): Promise<string> {
  const session = await edge.http2(host);
  const stream = session.request(headers, { endStream: true });
  const [head] = await once(stream, 'response');
  session.destroy();
  return `${head[':status']} ${head['postern-error-code'] ?? ''}`;
}

/** Bytes that the runtime counts beside a value. */
const rest = (path: string): number => path.length + 'host'.length + host.length + 'x-large'.length;

for (const [what, path, bytes, expected] of [
  ['one byte below the limit', '/', LIMIT_BYTES - rest('/') - 1, '200 '],
  ['at the limit', '/', LIMIT_BYTES - rest('/'), '431 ERR_POSTERN_HEADERS_TOO_LARGE'],
  ['of 33,000 bytes', '/', 33_000, '431 ERR_POSTERN_HEADERS_TOO_LARGE'],
  ['of 60,000 bytes', '/', 60_000, '431 ERR_POSTERN_HEADERS_TOO_LARGE'],
  ['with a path of 30,000 bytes', `/${'a'.repeat(30_000)}`, 3_000, '431 ERR_POSTERN_HEADERS_TOO_LARGE'],
] as const) {
  test(`a head ${what} is ${expected.slice(0, 3)}`, async () => {
    assert.deepEqual(await both('GET', path, { 'x-large': 'a'.repeat(bytes) }), [expected, expected]);
  });
}

for (const [count, expected] of [
  [LIMIT_COUNT - 1, '200 '],
  [LIMIT_COUNT, '431 ERR_POSTERN_HEADERS_TOO_LARGE'],
  [LIMIT_COUNT + 50, '431 ERR_POSTERN_HEADERS_TOO_LARGE'],
] as const) {
  test(`${count} headers beside Host are ${expected.slice(0, 3)}`, async () => {
    const fields = Object.fromEntries(Array.from({ length: count }, (_, at) => [`x-${at}`, '1']));
    assert.deepEqual(await both('GET', '/', fields), [expected, expected]);
  });
}

/** A browser and Go's client send each cookie in a field of its own over HTTP/2; over HTTP/1.1 all are one header. */
async function withCookies(path: string, cookies: readonly string[]): Promise<readonly [http1: string, http2: string]> {
  const [http1] = await both('GET', path, { cookie: cookies.join('; ') });
  const crumbs = { ':method': 'GET', ':authority': host, ':path': path, cookie: [...cookies] };
  return [http1, await overHttp2(crumbs)];
}

for (const count of [2, 99, 100, 170, 900]) {
  test(`${count} cookies in fields of their own arrive as one header`, async () => {
    const cookies = Array.from({ length: count }, (_, at) => `c${at}=${'v'.repeat(20)}`);
    const path = `/cookies-${count}`;
    assert.deepEqual(await withCookies(path, cookies), ['200 ', '200 ']);
    const seen = upstream.seen.filter(({ url }) => url === path).map(({ headers }) => headers['cookie']);
    // As one field over each protocol, and in fields of their own.
    assert.equal(seen.length, 3);
    for (const cookie of seen) assert.ok(cookie === cookies.join('; '), `${cookie?.length} characters`);
  });
}

test('cookies in fields of their own count with the bytes of one header', async () => {
  const cookies = Array.from({ length: 100 }, (_, at) => `${String(at).padStart(3, '0')}=${'v'.repeat(300)}`);
  const bytes = cookies.join('; ').length + 'cookie'.length;
  const fit = LIMIT_BYTES - bytes - 1 - 'host'.length - host.length;
  const pathOf = (length: number): string => `/${'p'.repeat(length - 1)}`;
  const refused = '431 ERR_POSTERN_HEADERS_TOO_LARGE';
  assert.deepEqual(await withCookies(pathOf(fit), cookies), ['200 ', '200 ']);
  assert.deepEqual(await withCookies(pathOf(fit + 1), cookies), [refused, refused]);
});

test('more than 1,000 fields are 431, however small the cookies are, and far more are reset', async () => {
  const crumbs = (count: number) => ({ ':path': '/many', cookie: Array.from({ length: count }, () => 'a=') });
  assert.equal(await overHttp2({ ...crumbs(1_000), ':authority': host }), '431 ERR_POSTERN_HEADERS_TOO_LARGE');
  const session = await edge.http2(host);
  const bomb = session.request(crumbs(2_000), { endStream: true });
  await assert.rejects(once(bomb, 'response'), { code: 'ERR_HTTP2_STREAM_ERROR' });
  const after = session.request({ ':path': '/after' }, { endStream: true });
  assert.equal((await once(after, 'response'))[0][':status'], 200);
  session.destroy();
  assert.ok(!upstream.seen.some(({ url }) => url === '/many'));
});

for (const [method, expected] of [
  ['PROPFIND', '200 '],
  ['QUERY', '200 '],
  ['BREW', '400 ERR_POSTERN_BAD_HTTP'],
  ['get', '400 ERR_POSTERN_BAD_HTTP'],
  ['TRACE', '405 ERR_POSTERN_METHOD_REFUSED'],
] as const) {
  test(`the method ${method} is ${expected.slice(0, 3)}`, async () => {
    assert.deepEqual(await both(method, '/', {}), [expected, expected]);
  });
}

test('a head over the limit that announces no body is 431 before it ends', async () => {
  const session = await edge.http2(host);
  const fields = { ':method': 'POST', ':authority': host, ':path': '/', 'x-large': 'a'.repeat(40_000) };
  const stream = session.request({ ...fields, 'content-length': '0' }, { endStream: false });
  const [head] = await once(stream, 'response');
  assert.equal(head[':status'], 431);
  session.destroy();
});

test('a WebSocket handshake with a body is 400: its end would be the first bytes of the WebSocket', async () => {
  const handshake = { connection: 'upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' };
  const key = { 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' };
  for (const body of [{ 'content-length': '5' }, { 'transfer-encoding': 'chunked' }]) {
    const socket = await edge.connect(host);
    const lines = Object.entries({ host, ...handshake, ...key, ...body }).map(([name, value]) => `${name}: ${value}`);
    socket.write(`GET /socket HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
    assert.match(String((await once(socket, 'data'))[0]), /^HTTP\/1\.1 400 /);
    socket.destroy();
  }
  const session = await edge.http2(host);
  const connect = { ':method': 'CONNECT', ':protocol': 'websocket', ':authority': host, ':path': '/socket' };
  const stream = session.request({ ...connect, 'content-length': '5' });
  const [head] = await once(stream, 'response');
  assert.equal(head[':status'], 400);
  session.destroy();
  assert.ok(!upstream.seen.some(({ url }) => url === '/socket'));
});

test('trailers over the limit are 431, and the request never arrives as complete', async () => {
  const large = 'a'.repeat(LIMIT_BYTES);
  const socket = await edge.connect(host);
  socket.write(`POST /trailers HTTP/1.1\r\nhost: ${host}\r\ntransfer-encoding: chunked\r\n\r\n4\r\nbody\r\n`);
  socket.write(`0\r\nx-large: ${large}\r\n\r\n`);
  assert.match(String((await once(socket, 'data'))[0]), /^HTTP\/1\.1 431 /);
  socket.destroy();
  const session = await edge.http2(host);
  const stream = session.request({ ':method': 'POST', ':path': '/trailers' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'x-large': large }));
  stream.end('body');
  const [head] = await once(stream, 'response');
  assert.equal(head[':status'], constants.HTTP_STATUS_REQUEST_HEADER_FIELDS_TOO_LARGE);
  session.destroy();
  assert.equal(await edge.status(host, '/after'), 200);
  assert.deepEqual(
    upstream.seen.filter(({ url }) => url === '/trailers'),
    [],
  );
});
