import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { OutgoingHttpHeaders } from 'node:http2';
import { after, suite, test } from 'node:test';
import { EdgeWorld } from '../../support/edge-world.ts';
import { rawExchange } from '../traffic/raw-exchange.ts';
import { recordingUpstream } from '../traffic/recording-upstream.ts';
import { TunnelWorld } from '../tunnels/tunnel-world.ts';
import { ADDRESS_NAMES, HONEST_NAMES, IDENTITY_NAMES } from './spoofed-names.ts';

const SPOOFED = 'spoofed-by-the-client';
const EVERY_NAME = [...IDENTITY_NAMES, ...ADDRESS_NAMES];

const upstream = await recordingUpstream({ after });
const world = await EdgeWorld.open({ after }, { POSTERN_EDGE_HEADER_COUNT: '200' });
const { host } = await world.site(await world.staticBackend(upstream.address));

function fields(names: readonly string[]): string {
  return names.map((name) => `${name}: ${SPOOFED}\r\n`).join('');
}

/** Names that reached the upstream with the client's value, in lower case. */
function arrived(): readonly string[] {
  const { rawHeaders = [], rawTrailers = [] } = upstream.seen.at(-1) ?? {};
  const all = [...rawHeaders, ...rawTrailers];
  return all.filter((_, at) => at % 2 === 0 && all[at + 1] === SPOOFED).map((name) => name.toLowerCase());
}

async function send(request: string, to = world, at = host): Promise<readonly string[]> {
  const before = upstream.seen.length;
  const socket = await to.connect(at);
  await rawExchange(socket, request, { isEnough: () => upstream.seen.length > before });
  socket.destroy();
  assert.equal(upstream.seen.length, before + 1);
  return arrived();
}

async function sendOverHttp2(session: Awaited<ReturnType<typeof world.http2>>, headers: OutgoingHttpHeaders) {
  const before = upstream.seen.length;
  const stream = session.request(headers);
  stream.on('error', () => {});
  stream.resume();
  await once(stream, 'close');
  session.destroy();
  assert.equal(upstream.seen.length, before + 1);
  return arrived();
}

suite('headers that upstreams trust', () => {
  test('are not accepted from clients over HTTP/1.1, and others are', async () => {
    const request = `GET / HTTP/1.1\r\nHost: ${host}\r\n${fields([...EVERY_NAME, ...HONEST_NAMES])}\r\n`;
    assert.deepEqual(
      await send(request),
      HONEST_NAMES.map((name) => name.toLowerCase()),
    );
  });

  test('in any spelling', async () => {
    const names = [
      'X_Forwarded_User',
      'x.forwarded.email',
      'X-FORWARDED-GROUPS',
      'Remote_User',
      'x~ssl~client~verify',
      'proxy',
    ];
    assert.deepEqual(await send(`GET / HTTP/1.1\r\nHost: ${host}\r\n${fields(names)}\r\n`), []);
  });

  test('nor over HTTP/2', async () => {
    const headers = Object.fromEntries(EVERY_NAME.map((name) => [name.toLowerCase(), SPOOFED]));
    assert.deepEqual(await sendOverHttp2(await world.http2(host), { ':path': '/', ...headers, 'x-api-key': SPOOFED }), [
      'x-api-key',
    ]);
  });

  test('nor as trailers', async () => {
    const head = `POST / HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\n\r\n`;
    assert.deepEqual(await send(`${head}1\r\nx\r\n0\r\n${fields([...EVERY_NAME, 'x-checksum'])}\r\n`), ['x-checksum']);
    const session = await world.http2(host);
    const before = upstream.seen.length;
    const stream = session.request({ ':method': 'POST', ':path': '/' }, { waitForTrailers: true });
    stream.on('wantTrailers', () =>
      stream.sendTrailers(
        Object.fromEntries([...EVERY_NAME, 'x-checksum'].map((name) => [name.toLowerCase(), SPOOFED])),
      ),
    );
    stream.end('x');
    await once(stream.resume(), 'close');
    session.destroy();
    assert.equal(upstream.seen.length, before + 1);
    assert.deepEqual(arrived(), ['x-checksum']);
  });

  test('nor with a WebSocket, over either protocol', async () => {
    const upgrade = `Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n`;
    assert.deepEqual(await send(`GET / HTTP/1.1\r\nHost: ${host}\r\n${upgrade}${fields(EVERY_NAME)}\r\n`), []);
    const headers = Object.fromEntries(EVERY_NAME.map((name) => [name.toLowerCase(), SPOOFED]));
    const connect = {
      ':method': 'CONNECT',
      ':protocol': 'websocket',
      ':path': '/',
      ':scheme': 'https',
      ':authority': host,
    };
    assert.deepEqual(await sendOverHttp2(await world.http2(host), { ...connect, ...headers }), []);
  });

  test('nor through a tunnel', async (context) => {
    const tunnels = await TunnelWorld.open(context);
    const { id } = await tunnels.tunnel(context);
    const published = await tunnels.publish(id);
    const headers = Object.fromEntries([...IDENTITY_NAMES.slice(0, 50), 'x-api-key'].map((name) => [name, SPOOFED]));
    const answer = await tunnels.clients.ask(published.host, '/', { headers });
    const seen = Object.entries(JSON.parse(answer.text).headers).filter(([, value]) => value === SPOOFED);
    assert.deepEqual(seen, [['x-api-key', SPOOFED]]);
  });
});

suite('headers that change the method', () => {
  test('are not accepted with OPTIONS, which login may exempt', async () => {
    const names = ['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override'];
    assert.deepEqual(await send(`OPTIONS / HTTP/1.1\r\nHost: ${host}\r\n${fields(names)}\r\n`), []);
    const post = `POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 0\r\n${fields(names)}\r\n`;
    assert.deepEqual(
      await send(post),
      names.map((name) => name.toLowerCase()),
    );
  });
});

suite('trusted proxies', () => {
  test('report addresses, and nobody reports identities', async (context) => {
    const trusting = await EdgeWorld.open(context, {
      POSTERN_TRUSTED_PROXIES: '127.0.0.1/32',
      POSTERN_EDGE_HEADER_COUNT: '200',
    });
    const site = await trusting.site(await trusting.staticBackend(upstream.address));
    const request = `GET / HTTP/1.1\r\nHost: ${site.host}\r\n${fields(EVERY_NAME)}\r\n`;
    assert.deepEqual(
      await send(request, trusting, site.host),
      ADDRESS_NAMES.map((name) => name.toLowerCase()),
    );
    const headers = Object.fromEntries(EVERY_NAME.map((name) => [name.toLowerCase(), SPOOFED]));
    assert.deepEqual(
      await sendOverHttp2(await trusting.http2(site.host), { ':path': '/', ...headers }),
      ADDRESS_NAMES.map((name) => name.toLowerCase()),
    );
    const inTrailers = `POST / HTTP/1.1\r\nHost: ${site.host}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n${fields(EVERY_NAME)}\r\n`;
    assert.deepEqual(await send(inTrailers, trusting, site.host), []);
  });
});

suite('drop_request_headers', () => {
  test("replaces the list, not the edge's own headers", async (context) => {
    const other = await EdgeWorld.open(context, {
      POSTERN_DROP_REQUEST_HEADERS: 'X_Employee,x-team-*,cookie',
      POSTERN_EDGE_HEADER_COUNT: '200',
    });
    const site = await other.site(await other.staticBackend(upstream.address));
    const names = [
      'X-Employee',
      'x.employee',
      'X-Team-Lead',
      'X-Teams',
      'Cookie',
      'X-Forwarded-User',
      'X-Forwarded-For',
      'X-Forwarded-Port',
      'Postern-Auth-User-Id',
    ];
    const request = `GET / HTTP/1.1\r\nHost: ${site.host}\r\n${fields(names)}\r\n`;
    assert.deepEqual(await send(request, other, site.host), ['x-teams', 'x-forwarded-user']);
  });
});
