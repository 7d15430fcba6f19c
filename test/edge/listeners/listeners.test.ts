import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, type Server, type Socket } from 'node:net';
import { suite, type TestContext, test } from 'node:test';
import { edgeErrors } from '../../../src/proxy/edge/errors.ts';
import { HttpServers } from '../../../src/proxy/edge/http/http-servers.ts';
import { DroppedHeaders } from '../../../src/proxy/edge/http/request-head.ts';
import {
  type OpenServer,
  openEdgeListener,
  plainConnections,
} from '../../../src/proxy/edge/listeners/edge-listener.ts';
import { redirectToHttps } from '../../../src/proxy/edge/listeners/plain-answers.ts';
import { HostTable } from '../../../src/proxy/snapshot/host-table.ts';
import { until } from '../tls/tls-world.ts';

const open: OpenServer = async (server: Server) => {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { host: '127.0.0.1', port: (server.address() as AddressInfo).port };
};

const LIMITS = {
  maxHeaderBytes: 16_384,
  maxHeaderCount: 100,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  keepAliveTimeoutMs: 5_000,
  sendTimeoutMs: 5_000,
  maxConcurrentStreams: 10,
};

async function openRedirects(t: TestContext, { httpsPort = 7443, maxConnectionsPerAddress = 0 } = {}) {
  const hosts = new HostTable<{ id: string }>();
  hosts.set('app.localhost', { id: 'edghts_1' });
  hosts.set('*.wild.localhost', { id: 'edghts_2' });
  const redirects = {
    hosts,
    httpsPort: () => httpsPort,
    newRequestId: () => 'rq_1',
    answers: { redirected: () => {} },
    unknownName: () => {},
  };
  const servers = new HttpServers({
    scheme: 'http',
    rules: { dropped: new DroppedHeaders([]), hostPorts: null },
    limits: LIMITS,
    handle: (connection, request) => {
      const { reading, writer } = request;
      if (reading.ok) redirectToHttps(redirects, connection, reading.head, request);
      else writer.answer(edgeErrors.rows[reading.code].status, [], Buffer.alloc(0));
    },
    onSessionError: () => {},
  });
  const facts = { serverName: '', edgeId: '', tlsGeneration: '', tlsVersion: '' };
  const nobody = { clientAuthorities: [], clientCertificate: null, isFromProxy: false };
  const listener = await openEdgeListener({
    open: [open],
    onSocket: plainConnections(maxConnectionsPerAddress, (socket) =>
      servers.accept(socket, 'http/1.1', { ...facts, ...nobody, remoteAddress: '127.0.0.1' }),
    ),
    onProblem: () => {},
  });
  t.after(async () => {
    servers.startDraining();
    await servers.close(0);
    await listener.drain(0);
  });
  return listener;
}

/** Sends raw bytes and reads until the peer closes. */
async function send(port: number, text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1').setEncoding('latin1');
  socket.on('error', () => {});
  socket.write(text, 'latin1');
  let answer = '';
  for await (const chunk of socket) answer += chunk;
  return answer;
}

function get(target: string, ...headers: string[]): string {
  return [`GET ${target} HTTP/1.1`, ...headers, '', ''].join('\r\n');
}

suite('plain HTTP', () => {
  for (const [what, target, host, location] of [
    ['a configured host', '/', 'app.localhost', 'https://app.localhost:7443/'],
    [
      'a path and query as they came',
      '/a%2Fb/%C3%A4?x=1&y=%20#'.slice(0, -1),
      'app.localhost',
      'https://app.localhost:7443/a%2Fb/%C3%A4?x=1&y=%20',
    ],
    [
      'a query with a URL in it',
      '/go?to=http://evil.test//',
      'app.localhost',
      'https://app.localhost:7443/go?to=http://evil.test//',
    ],
    ['a host with port and capitals', '/', 'APP.localhost:7081', 'https://app.localhost:7443/'],
    ['a host below a wildcard', '/', 'x.wild.localhost', 'https://x.wild.localhost:7443/'],
    ['absolute form (RFC 9112 §3.2.2)', 'http://app.localhost/a', 'app.localhost', 'https://app.localhost:7443/a'],
  ] as const) {
    test(`redirects ${what}`, async (t) => {
      const {
        addresses: [address],
      } = await openRedirects(t);
      const answer = await send(address.port, get(target, `Host: ${host}`));
      assert.match(answer, /^HTTP\/1\.1 308 /);
      assert.equal(/^location: (.*)\r$/im.exec(answer)?.[1], location);
    });
  }

  test('omits the default port', async (t) => {
    const {
      addresses: [address],
    } = await openRedirects(t, { httpsPort: 443 });
    assert.match(
      await send(address.port, get('/x', 'Host: app.localhost')),
      /location: https:\/\/app\.localhost\/x\r/i,
    );
  });

  test('redirects a POST without reading its body or mistaking it for a request', async (t) => {
    const {
      addresses: [address],
    } = await openRedirects(t);
    const inner = get('/inner', 'Host: app.localhost');
    for (const framing of [`Content-Length: ${inner.length}`, 'Content-Length: 99999999\r\nExpect: 100-continue']) {
      const answer = await send(address.port, `POST / HTTP/1.1\r\nHost: app.localhost\r\n${framing}\r\n\r\n${inner}`);
      assert.equal(answer.match(/HTTP\/1\.1 /g)?.length, 1);
      assert.match(answer, /^HTTP\/1\.1 308 [\s\S]*connection: close/i);
    }
  });

  for (const [what, text, status] of [
    ['another host', get('/', 'Host: other.localhost'), 404],
    ['two labels below a wildcard', get('/', 'Host: a.b.wild.localhost'), 404],
    ['an address', get('/', 'Host: 127.0.0.1:7081'), 404],
    ['an IPv6 address', get('/', 'Host: [::1]:7081'), 400],
    ['absolute form of another scheme', get('https://app.localhost/', 'Host: app.localhost'), 400],
    ['absolute form of another host', get('http://evil.test/', 'Host: app.localhost'), 400],
    ['a target without a slash', get('*', 'Host: app.localhost'), 400],
    ['a backslash', get('/\\evil.test/', 'Host: app.localhost'), 400],
    ['dot segments', get('/a/%2e%2e/b', 'Host: app.localhost'), 400],
    ['no host', 'GET / HTTP/1.0\r\n\r\n', 400],
    ['two hosts', get('/', 'Host: app.localhost', 'Host: app.localhost'), 400],
    ['an empty host', get('/', 'Host:'), 400],
    ['a host with a user', get('/', 'Host: me@app.localhost'), 400],
    ['a host with a path', get('/', 'Host: app.localhost/x'), 400],
    ['a host with a comma', get('/', 'Host: app.localhost, evil.test'), 400],
    ['a wildcard as host', get('/', 'Host: *.wild.localhost'), 400],
    ['a host with a port that is none', get('/', 'Host: app.localhost:99999'), 400],
    ['a host with an empty port', get('/', 'Host: app.localhost:'), 400],
    ['bytes above ASCII in the path', get('/\u00e4', 'Host: app.localhost'), 400],
    ['something that is not HTTP', '\x16\x03\x01\x02\x00\r\n\r\n', 400],
    ['too many bytes of headers', get('/', 'Host: app.localhost', `X: ${'x'.repeat(20_000)}`), 431],
  ] as const) {
    test(`answers ${what} with ${status}`, async (t) => {
      const {
        addresses: [address],
      } = await openRedirects(t);
      const answer = await send(address.port, text);
      assert.match(answer, new RegExp(`^HTTP/1\\.1 ${status} `));
      assert.doesNotMatch(answer, /location:/i);
    });
  }

  for (const [what, text, location] of [
    ['a path that starts a host', get('//evil.test/', 'Host: app.localhost'), '//evil.test/'],
    ['a host with the dot of the root', get('/x', 'Host: app.localhost.'), '/x'],
  ] as const) {
    test(`redirects ${what} to the same path of the same host`, async (t) => {
      const {
        addresses: [address],
      } = await openRedirects(t);
      assert((await send(address.port, text)).includes(`\r\nlocation: https://app.localhost:7443${location}\r\n`));
    });
  }

  test('answers people with a page and programs with JSON, without repeating the host', async (t) => {
    const {
      addresses: [address],
    } = await openRedirects(t);
    const page = await send(address.port, get('/', 'Host: other.localhost', 'Accept: text/html'));
    assert.match(page, /<h1>404 Not Found<\/h1>/);
    assert.doesNotMatch(page, /other\.localhost/);
    assert.match(await send(address.port, get('/', 'Host: other.localhost')), /"error_code":"ERR_POSTERN_NO_ROUTE"/);
  });

  test('limits connections of one address', async (t) => {
    const {
      addresses: [address],
    } = await openRedirects(t, { maxConnectionsPerAddress: 1 });
    const held = connect(address.port, '127.0.0.1');
    t.after(() => held.destroy());
    await once(held, 'connect');
    assert.equal(await send(address.port, get('/', 'Host: app.localhost')), '');
  });
});

suite('the TCP listener', () => {
  test('passes sockets on, and drains: no new ones, old ones until the deadline', async (t) => {
    const sockets: Socket[] = [];
    const listener = await openEdgeListener({
      open: [open],
      onSocket: (socket) => sockets.push(socket.resume()),
      onProblem: () => {},
    });
    t.after(() => listener.drain(0));
    const clients = [
      connect(listener.addresses[0].port, '127.0.0.1'),
      connect(listener.addresses[0].port, '127.0.0.1'),
    ];
    for (const client of clients) client.on('error', () => {}).resume();
    await until(() => sockets.length === 2);
    assert.equal(listener.connectionCount, 2);
    let isDrained = false;
    const drained = listener.drain(200).then(() => {
      isDrained = true;
    });
    clients[0]?.end();
    const late = connect(listener.addresses[0].port, '127.0.0.1');
    const [error] = (await once(late, 'error')) as [NodeJS.ErrnoException];
    assert.equal(error.code, 'ECONNREFUSED');
    assert.equal(isDrained, false);
    await drained;
    await until(() => listener.connectionCount === 0);
  });

  test('reports why it could not be opened', async () => {
    const refuse = () => Promise.reject(new Error('port 1 is already in use'));
    await assert.rejects(
      openEdgeListener({ open: [refuse], onSocket: () => {}, onProblem: () => {} }),
      /already in use/,
    );
  });
});
