import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { after, suite, test } from 'node:test';
import { performHandshake } from '../../../src/app/cli/doctor/dial.ts';
import { EdgeWorld } from '../../support/edge-world.ts';
import { headerRelay } from '../../support/header-relay.ts';
import { until } from '../tls/tls-world.ts';
import { recordingUpstream } from '../traffic/recording-upstream.ts';

/** The loopback address that these tests use as a load balancer's; other clients connect from 127.0.0.1. */
const BALANCER = '127.0.0.9';
const V1 = 'PROXY TCP4 203.0.113.7 192.0.2.1 49153 443\r\n';
const V2_IPV6 = Buffer.concat([
  Buffer.from('0d0a0d0a000d0a515549540a', 'hex'),
  Buffer.from([0x21, 0x21, 0, 36]),
  Buffer.from('20010db8000000000000000000000007', 'hex'),
  Buffer.from('20010db8000000000000000000000001', 'hex'),
  Buffer.from([0xc0, 0x01, 1, 0xbb]),
]);

const upstream = await recordingUpstream({ after });
const edges = await EdgeWorld.open(
  { after },
  {
    POSTERN_PROXY_PROTOCOL_FROM: `${BALANCER}/32`,
    POSTERN_TRUSTED_PROXIES: '198.51.100.0/24',
    POSTERN_LOG_LEVEL: 'debug',
  },
);
const httpPort = edges.world.server.addresses.edgeHttp?.port ?? 0;

function relay(header: string | Buffer, mode?: 'joined' | 'bytes', to = edges.port): Promise<number> {
  return headerRelay({ after }, { to, header, localAddress: BALANCER, ...(mode !== undefined && { mode }) });
}

function dialAs(localAddress: string, port: number, bytes: string | Buffer): Socket {
  const socket = connect({ host: '127.0.0.1', port, localAddress }).on('error', () => {});
  socket.write(bytes);
  after(() => socket.destroy());
  return socket;
}

async function answerTo(socket: Socket): Promise<string> {
  let answer = '';
  socket.setEncoding('latin1').on('data', (text: string) => {
    answer += text;
  });
  await closed(socket);
  return answer;
}

async function refusals(listener: string, reason: string): Promise<number> {
  const line = `postern_proxy_protocol_refusals_total{listener="${listener}",reason="${reason}"}`;
  const found = (await edges.metrics()).split('\n').find((text) => text.startsWith(line));
  return Number(found?.split(' ').at(-1) ?? 0);
}

suite('proxy_protocol_from', () => {
  for (const [what, header, mode, address] of [
    ['version 1', V1, undefined, '203.0.113.7'],
    ['version 2', V2_IPV6, undefined, '2001:db8::7'],
    ['a header in one packet with the ClientHello', V1, 'joined', '203.0.113.7'],
    ['a binary header in one packet with the ClientHello', V2_IPV6, 'joined', '2001:db8::7'],
    ['a header of one byte per packet', V1, 'bytes', '203.0.113.7'],
    ['a binary header of one byte per packet', V2_IPV6, 'bytes', '2001:db8::7'],
    ['UNKNOWN, which leaves the address of the proxy', 'PROXY UNKNOWN\r\n', undefined, BALANCER],
  ] as const) {
    test(`takes the client's address from ${what}`, async () => {
      const port = await relay(header, mode);
      const { host } = await edges.site(await edges.staticBackend(upstream.address));
      const answer = await edges.ask(host, '/', { port, headers: { 'x-forwarded-for': '192.0.2.99' } });
      assert.equal(answer.status, 200);
      assert.equal(upstream.seen.at(-1)?.headers['x-forwarded-for'], address);
      const line = edges.world.logLines.findLast((text) => text.includes(`"host":"${host}"`)) ?? '{}';
      assert.equal(JSON.parse(line).client, address);

      const session = await edges.http2(host, { port });
      const stream = session.request({ ':path': '/two' });
      stream.resume();
      const [head] = await once(stream, 'response');
      assert.equal(head[':status'], 200);
      assert.equal(upstream.seen.at(-1)?.headers['x-forwarded-for'], address);
      session.close();
    });
  }

  test('applies IP rules to that address', async () => {
    const { policyId } = await edges.ipPolicy('allow', '203.0.113.0/24');
    const { host, routePath } = await edges.site(await edges.httpResponse('in'));
    await edges.api('PUT', `${routePath}/ip_restriction`, { ip_policy_ids: [policyId] });
    assert.equal(await edges.status(host, '/', { port: await relay(V1) }), 200);
    assert.equal(await edges.status(host, '/', { port: await relay(V2_IPV6) }), 403);
    assert.equal(await edges.status(host), 403);
  });

  test('lets a trusted proxy behind the balancer name its client in X-Forwarded-For', async () => {
    const { host } = await edges.site(await edges.staticBackend(upstream.address));
    const port = await relay('PROXY TCP4 198.51.100.4 192.0.2.1 1 443\r\n');
    await edges.ask(host, '/', { port, headers: { 'x-forwarded-for': '192.0.2.99' } });
    assert.equal(upstream.seen.at(-1)?.headers['x-forwarded-for'], '192.0.2.99, 198.51.100.4');
  });

  for (const [what, bytes, reason] of [
    ['no header but TLS', Buffer.from([22, 3, 1, 0, 100, 1]), 'missing'],
    ['a malformed header', 'PROXY TCP4 203.0.113.7\r\n', 'malformed'],
    ['a header that is too long', `PROXY UNKNOWN ${'x'.repeat(200)}`, 'too_large'],
  ] as const) {
    test(`closes a balancer's connection with ${what}, and reports it`, async () => {
      for (const [listener, port] of [
        ['edge', edges.port],
        ['edge_http', httpPort],
      ] as const) {
        const before = await refusals(listener, reason);
        assert.equal(await answerTo(dialAs(BALANCER, port, bytes)), '');
        assert.equal(await refusals(listener, reason), before + 1);
      }
      const line = edges.world.logLines.find((text) => text.includes('no valid PROXY header')) ?? '{}';
      assert.equal(JSON.parse(line).proxy, BALANCER);
    });
  }

  test('refuses a header from every other address, on both listeners', async () => {
    const { host } = await edges.site(await edges.httpResponse('in'));
    const toTls = await answerTo(dialAs('127.0.0.1', edges.port, V1));
    assert.doesNotMatch(toTls, / 200 /);
    assert.ok(edges.world.logLines.some((line) => line.includes('its address is not in proxy_protocol_from')));
    await assert.rejects(
      edges.ask(host, '/', {
        port: await headerRelay({ after }, { to: edges.port, header: V1, localAddress: '127.0.0.1' }),
      }),
    );
    const plain = await answerTo(dialAs('127.0.0.1', httpPort, `${V1}GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`));
    assert.match(plain, /^HTTP\/1\.1 400 /);
    assert.equal((await edges.ask(host)).text, 'in');
  });

  test('works on the plain listener, also with the request in the same packet', async () => {
    const { host } = await edges.site(await edges.httpResponse('in'));
    for (const mode of [undefined, 'joined', 'bytes'] as const) {
      const port = await relay(V1, mode, httpPort);
      const answer = await answerTo(dialAs('127.0.0.1', port, `GET /x HTTP/1.1\r\nHost: ${host}\r\n\r\n`));
      assert.match(answer, /^HTTP\/1\.1 308 /, String(mode));
    }
  });

  test('counts connections of the clients, not of the balancer', async (t) => {
    const limited = await EdgeWorld.open(t, {
      POSTERN_PROXY_PROTOCOL_FROM: `${BALANCER}/32`,
      POSTERN_EDGE_CONNECTIONS_PER_ADDRESS: '1',
    });
    const { host } = await limited.site(await limited.httpResponse('in'));
    const from = (address: string): Promise<number> =>
      headerRelay(t, { to: limited.port, header: `PROXY TCP4 ${address} 192.0.2.1 1 443\r\n`, localAddress: BALANCER });
    const [first, second] = [await from('203.0.113.1'), await from('203.0.113.2')];
    await limited.connect(host, { port: first });
    await limited.connect(host, { port: second });
    await assert.rejects(limited.connect(host, { port: first }));

    const plainPort = limited.world.server.addresses.edgeHttp?.port ?? 0;
    const plain = (address: string): Socket =>
      dialAs(BALANCER, plainPort, `PROXY TCP4 ${address} 192.0.2.1 1 80\r\n`).resume();
    const kept = [plain('203.0.113.1'), plain('203.0.113.2')];
    const refused = plain('203.0.113.2');
    await until(() => [...kept, refused].filter((socket) => socket.destroyed).length === 1);
    assert.equal(kept[0]?.destroyed, false);
  });

  test("is kept by the doctor's own handshake", async (t) => {
    const loopback = await EdgeWorld.open(t, { POSTERN_PROXY_PROTOCOL_FROM: '127.0.0.0/8' });
    const { host } = await loopback.site(await loopback.httpResponse('in'));
    const address = { host: '127.0.0.1', port: loopback.port };
    assert.match((await performHandshake(address, host, ['127.0.0.0/8'])).certificate?.subjectAltName ?? '', /site-/);
    assert.equal((await performHandshake(address, host, [])).certificate, null);
    const closed = { host: '127.0.0.1', port: 1 };
    assert.equal((await performHandshake(closed, host, [])).problem, 'the connection was refused');
  });

  test('closes connections that wait for their header when the server stops', async (t) => {
    const stopping = await EdgeWorld.open(t, {
      POSTERN_PROXY_PROTOCOL_FROM: `${BALANCER}/32`,
      POSTERN_SHUTDOWN_TIMEOUT: '60',
    });
    const waiting = [stopping.port, stopping.world.server.addresses.edgeHttp?.port ?? 0].map((port) =>
      dialAs(BALANCER, port, 'PROXY TC').resume(),
    );
    await Promise.all(waiting.map((socket) => once(socket, 'connect')));
    await Promise.all([stopping.world.close(), ...waiting.map((socket) => closed(socket))]);
  });
});

/** A reset counts as well. */
function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.once('close', () => resolve());
  });
}
