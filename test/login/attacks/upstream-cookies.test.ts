import assert from 'node:assert/strict';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { after, suite, test } from 'node:test';
import { rawExchange } from '../../edge/traffic/raw-exchange.ts';
import { LoginWorld } from '../../support/login-world.ts';
import { TunnelWorld } from '../../support/tunnel-world.ts';
import { COMPANION, cookieOf, SESSION, seenIn, siteAt, userOf } from '../flow/steps.ts';

/** An app behind the edge that sets the edge's own cookies, to swap a visitor's login for one of the attacker's. */
const world = await LoginWorld.open({ after });

const OURS: readonly string[] = [
  'postern.session=x; Path=/',
  'postern.session=; Max-Age=0',
  'postern.session',
  '  postern.session =x',
  '\tpostern.session\t=x\t',
  'POSTERN.Session=x',
  '"postern.session"=x',
  '=postern.session=x; Path=/',
  ' = postern.session=x',
  '==postern.session=x',
  '__Host-postern.session=x; Secure; Path=/',
  '__HOST-postern.session=x; Secure; Path=/',
  '=__Host-postern.session=x',
  '__Host-postern-flow-0123456789abcdef=x; Secure; Path=/',
  '__Host-postern-trail=pstn1.t.1.2.3.4; Secure; Path=/',
  'shop_session=x',
  'SHOP_session=x',
  '__Host-shop_session=x; Secure; Path=/',
  'anything=pstn1.s.AAAA.00',
  'anything="pstn1.s.AAAA.00"',
  'anything=\xa0pstn1.s.AAAA.00',
  'pstn1.s.AAAA.00',
  'a="x; shop_session=pstn1.s.AAAA.00"',
];

const THEIRS: readonly string[] = [
  'session=1; Path=/; HttpOnly',
  'postern.sessions=1',
  'mypostern.session=1',
  'shop_session_2=1; Expires=Wed, 21 Oct 2037 07:28:00 GMT',
  'a=postern.session; Path=/',
  'b="postern.session=x"; Path=/postern.session',
  '__Host-app=1; Secure; Path=/',
  '__Secure-postern.session=1; Secure',
  'c=;domain=localhost;priority=high',
  'odd',
  '=value',
  '',
];

const lines = (name: string, values: readonly string[]): string =>
  values.map((value) => `${name}: ${value}\r\n`).join('');
const ALL = lines('Set-Cookie', [...OURS, ...THEIRS]);

/** The example of RFC 6455 §1.3. */
const KEY = 'dGhlIHNhbXBsZSBub25jZQ==';
const ACCEPT = 's3pPLMBiTxaQ9kYGzzhZRbK+xOo=';

const RAW: Readonly<Record<string, string>> = {
  '/head': `HTTP/1.1 200 OK\r\n${ALL}Content-Length: 2\r\n\r\nok`,
  '/one': 'HTTP/1.1 200 OK\r\nset-COOKIE:postern.session=x\r\nContent-Length: 2\r\n\r\nok',
  '/hints': `HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n${ALL}\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok`,
  '/trailers': `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n${ALL}\r\n`,
  '/clear': 'HTTP/1.1 200 OK\r\nClear-Site-Data: "cookies"\r\nContent-Length: 2\r\n\r\nok',
  '/switch': `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${ACCEPT}\r\n${ALL}\r\n`,
};

const sockets = new Set<Socket>();
const upstream = createServer((socket) => {
  sockets.add(socket.on('error', () => {}));
  let head = '';
  socket.on('data', (chunk: Buffer) => {
    head += chunk.toString('latin1');
    if (!head.includes('\r\n\r\n')) return;
    const path = head.split(' ')[1] ?? '';
    head = '';
    socket.write(RAW[path.replace('/open', '')] ?? 'HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n', 'latin1');
  });
});
await new Promise<void>((resolve) => {
  upstream.listen(0, '127.0.0.1', resolve);
});
after(() => {
  for (const socket of sockets) socket.destroy();
  upstream.close();
});

const backendId = await world.edge.staticBackend(`127.0.0.1:${(upstream.address() as AddressInfo).port}`);
const site = await world.edge.site(backendId);
const openRoute = await world.edge.route(site.edgeId, '/open');
await world.edge.api('PUT', `${openRoute}/backend`, { backend_id: backendId });
await world.protect(site);
const shop = await world.edge.route(site.edgeId, '/shop');
await world.edge.api('PUT', `${shop}/backend`, { backend_id: backendId });
await world.edge.api('PUT', `${shop}/oidc`, world.module({ cookie_prefix: 'shop_' }));
const visitor = world.browser();
await visitor.logIn(site.host, '/head');

/** `Set-Cookie` values of everything received, trimmed at their ends only. */
function cookiesIn(bytes: string): readonly string[] {
  return [...bytes.matchAll(/^set-cookie:[ \t]*(.*?)[ \t]*\r$/gim)].map((match) => match[1] ?? '');
}

async function bytesOf(path: string, extra = ''): Promise<string> {
  const socket = await world.edge.connect(site.host);
  const cookie = visitor.jar.header(world.origin(site.host)) ?? '';
  const head = `GET ${path} HTTP/1.1\r\nHost: ${site.host}\r\nTE: trailers\r\nCookie: ${cookie}\r\n${extra}\r\n`;
  const { bytes } = await rawExchange(socket, head, {
    isEnough: (soFar) =>
      path.includes('trailers')
        ? /\r\n0\r\n(.*\r\n)*\r\n$/.test(soFar)
        : /\r\n\r\n(ok)?$/.test(soFar) && !isHint(soFar),
  });
  socket.destroy();
  return bytes;
}

function isHint(bytes: string): boolean {
  return bytes.includes(' 103 ') && !bytes.endsWith('ok');
}

suite('removes our cookies set by an upstream, and keeps others unchanged', () => {
  for (const prefix of ['', '/open']) {
    for (const path of ['/head', '/hints', '/trailers']) {
      test(`${path} on a route ${prefix === '' ? 'with' : 'without'} login`, async () => {
        const bytes = await bytesOf(`${prefix}${path}`);
        // The runtime writes several of one name in one line of a 103. No cookie is forwarded in trailers (RFC 9110
        // §6.5.1).
        assert.equal(cookiesIn(bytes).join(','), path === '/trailers' ? '' : THEIRS.join(','), bytes);
      });
    }
    test(`the response to an upgrade on a route ${prefix === '' ? 'with' : 'without'} login`, async () => {
      const key = `Sec-WebSocket-Key: ${KEY}\r\nSec-WebSocket-Version: 13\r\n`;
      const bytes = await bytesOf(`${prefix}/switch`, `Connection: Upgrade\r\nUpgrade: websocket\r\n${key}`);
      assert.match(bytes, /^HTTP\/1\.1 101 /);
      assert.deepEqual(cookiesIn(bytes), THEIRS, bytes);
    });
  }

  test('a response whose only cookie is ours has none', async () => {
    assert.deepEqual(cookiesIn(await bytesOf('/one')), []);
  });

  test('over HTTP/2', async () => {
    const session = await world.edge.http2(site.host);
    const stream = session.request({ ':path': '/open/head' });
    const headers = await new Promise<Readonly<Record<string, unknown>>>((resolve) => {
      stream.on('response', resolve);
    });
    stream.resume();
    assert.deepEqual(headers['set-cookie'], THEIRS);
    session.close();
  });
});

test('an upstream may clear its own site: that logs its user out, and admits nobody', async () => {
  assert.match(await bytesOf('/clear'), /clear-site-data: "cookies"/i);
});

test('an http_response backend cannot set them either', async () => {
  for (const [value, expected] of [
    ['postern.session=pstn1.s.x', undefined],
    ['theme=dark', ['theme=dark']],
  ] as const) {
    const fixed = await world.edge.site(await world.edge.httpResponse('hello', { headers: { 'Set-Cookie': value } }));
    assert.deepEqual((await world.edge.ask(fixed.host)).headers['set-cookie'], expected);
  }
});

test('a visitor whose login an upstream tries to swap keeps their identity', async () => {
  const host = 'swapped.localhost';
  const swapped = await siteAt(world, host);
  const attacker = world.browser();
  await attacker.logIn(host, '/', 'bob');
  const stolen = [SESSION, COMPANION].map((name) => `${name}=${cookieOf(world, attacker, host, name)}; Secure; Path=/`);
  const app = createHttpServer((_request, response) => response.setHeader('set-cookie', stolen).end());
  await new Promise<void>((resolve) => {
    app.listen(0, '127.0.0.1', resolve);
  });
  after(() => app.closeAllConnections());
  after(() => app.close());
  const evil = await world.edge.route(swapped.edgeId, '/evil');
  const evilBackend = await world.edge.staticBackend(`127.0.0.1:${(app.address() as AddressInfo).port}`);
  await world.edge.api('PUT', `${evil}/backend`, { backend_id: evilBackend });
  const victim = world.browser();
  await victim.logIn(host, '/', 'alice');
  assert.equal((await victim.open(host, '/evil')).status, 200);
  assert.equal(await userOf(victim, host), 'alice@example.com');
  const stranger = world.browser();
  await stranger.open(host, '/evil');
  assert.equal((await stranger.open(host)).status, 302, 'nobody is logged in as the attacker');
  assert.equal(seenIn(await attacker.open(host)).headers['postern-auth-user-email'], 'bob@example.com');
});

test('through a tunnel', async (t) => {
  const tunnels = await TunnelWorld.open(t);
  const app = createHttpServer((_request, response) => response.setHeader('set-cookie', [...OURS, 'a=1']).end());
  await new Promise<void>((resolve) => {
    app.listen(0, '127.0.0.1', resolve);
  });
  t.after(() => app.close());
  const agent = await tunnels.agent([{ proto: 'https', addr: (app.address() as AddressInfo).port }]);
  const host = new URL(agent.tunnels[0]?.publicUrl ?? '').hostname;
  const { headers } = await tunnels.edge.ask(host);
  const kept = headers['set-cookie'] as readonly string[];
  // Custom prefixes belong to the edge, and this one has none.
  assert.deepEqual(
    kept.filter((line) => !/^(__Host-)?shop_session=x/i.test(line)),
    ['a=1'],
  );
});
