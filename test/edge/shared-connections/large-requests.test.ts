// Process of test CAs: the list of trusted CAs is read once per process.
import assert from 'node:assert/strict';
import {
  type ClientHttp2Session,
  connect,
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from 'node:http2';
import { after, suite, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { TunnelWorld } from '../../support/tunnel-world.ts';
import { eventually } from '../../tunnel/support/fault-world.ts';
import { UpstreamAuthority } from '../settings/upstream-authority.ts';
import { http1Service, http2Service, pathOf } from './large-answers.ts';

/** The operator allows more than HTTP/2 carries. */
const ENV = { POSTERN_EDGE_HEADER_BYTES: '1048576', POSTERN_EDGE_HEADER_COUNT: '2000' };
const authority = await UpstreamAuthority.trusted({ after });
const tls = await authority.issue();
const [one, two, modest, far] = [
  await http1Service({ after }),
  await http2Service({ after }, tls),
  await http2Service({ after }, tls, { maxHeaderListSize: 16_384 }),
  await http1Service({ after }),
];
const world = await TunnelWorld.open({ after }, ENV);
const { edge } = world;
const staticHost = async (address: string, hasTls: boolean): Promise<string> =>
  (await edge.site(await edge.staticBackend(address, hasTls))).host;
const agent = await world.agent([{ proto: 'https', addr: `127.0.0.1:${far.port}` }], { connections: 1 });
const lost: string[] = [];
agent.on('status', ({ status, reason }) => {
  if (status !== 'online' && status !== 'stopped') lost.push(`${status}: ${reason}`);
});

const WAYS = [
  {
    name: 'an HTTP/1.1 upstream',
    host: await staticHost(`127.0.0.1:${one.port}`, false),
    service: one,
    most: 1_048_576,
  },
  { name: 'an HTTP/2 upstream', host: await staticHost(`localhost:${two.port}`, true), service: two, most: 131_072 },
  {
    ...{ name: 'an HTTP/2 upstream that accepts 16 KB', service: modest, most: 16_384 },
    host: await staticHost(`localhost:${modest.port}`, true),
  },
  { name: 'a tunnel', host: new URL(agent.publicUrl ?? '').hostname, service: far, most: 131_072 },
];

function fields(sizes: readonly number[]): Record<string, string> {
  return Object.fromEntries(sizes.map((bytes, at) => [`x-${at}`, '~'.repeat(bytes)]));
}

function headOf(session: ClientHttp2Session, headers: OutgoingHttpHeaders): Promise<IncomingHttpHeaders> {
  const stream = session.request(headers, { endStream: true });
  stream.on('error', () => {}).resume();
  return new Promise((resolve) => {
    let head: IncomingHttpHeaders = {};
    stream.on('response', (received) => {
      head = received;
    });
    stream.once('close', () => resolve(head));
  });
}

async function statusOf(session: ClientHttp2Session, headers: OutgoingHttpHeaders): Promise<number> {
  return Number((await headOf(session, headers))[':status'] ?? 0);
}

for (const { name, host, service, most } of WAYS) {
  suite(`a large request fails alone, through ${name}:`, () => {
    for (const [what, sizes] of [
      ['20,000 bytes', [20_000]],
      ['120,000 bytes', [60_000, 60_000]],
      ['140,000 bytes', [60_000, 60_000, 20_000]],
      ['a header of 70,000 bytes', [70_000]],
      ['600 headers', Array.from({ length: 600 }, () => 1)],
    ] as const) {
      test(what, async () => {
        const session = await edge.http2(host);
        const slow = statusOf(session, { ':path': '/slow' });
        await eventually('the slow request has arrived', () => service.slow === 1);
        const total = sizes.reduce((sum, bytes) => sum + bytes, 0);
        const isShared = most < 1_048_576;
        const fits = total < most && (!isShared || (Math.max(...sizes) <= 65_536 && sizes.length < 500));
        const client = edge.agent();
        // A worker that has no connection to the upstream yet does not know what it accepts.
        assert.equal(await edge.status(host, pathOf({}), { agent: client }), 200);
        const { status, headers } = await edge.ask(host, pathOf({}), { headers: fields(sizes), agent: client });
        client.destroy();
        assert.equal(status, fits ? 200 : 431);
        if (!fits) assert.equal(headers['postern-error-code'], 'ERR_POSTERN_HEADERS_TOO_LARGE');
        service.release();
        assert.equal(await slow, 200);
        assert.deepEqual(lost, []);
        session.destroy();
      });
    }
  });
}

for (const { name, host } of WAYS) {
  test(`600 cookies in fields of their own pass, through ${name}`, async () => {
    const session = await edge.http2(host);
    const cookie = Array.from({ length: 600 }, (_, at) => `c${at}=${'v'.repeat(8)}`);
    assert.equal(await statusOf(session, { ':path': pathOf({}), cookie }), 200);
    assert.deepEqual(lost, []);
    session.destroy();
  });
}

test('a visitor that accepts 16 KB of headers gets 502 for a larger response, and keeps the connection', async () => {
  const { host, service } = WAYS[0] as (typeof WAYS)[number];
  const session = connect(`https://${host}`, {
    settings: { maxHeaderListSize: 16_384 },
    createConnection: () => connectTls({ ALPNProtocols: ['h2'], ...edge.tlsOptions(host) }),
  });
  const slow = statusOf(session, { ':path': '/slow' });
  await eventually('the slow request has arrived', () => service.slow === 1);
  assert.equal(await statusOf(session, { ':path': pathOf({ head: [15_000] }) }), 200);
  const head = await headOf(session, { ':path': pathOf({ head: [17_000] }) });
  assert.equal(head[':status'], 502);
  assert.equal(head['postern-error-code'], 'ERR_POSTERN_CLIENT_HEADER_LIMIT', 'no failure of the backend');
  assert.match(
    await edge.metrics(),
    /postern_edge_refused_total\{[^}]*module="client",reason="client_header_limit"\} 1/,
  );
  assert.doesNotMatch(await edge.metrics(), /postern_edge_upstream_failures_total\{[^}]*client_header_limit/);
  service.release();
  assert.equal(await slow, 200);
  session.destroy();
});

test('1,100 invalid responses of an HTTP/2 upstream end no connection to it', async () => {
  const { host, service } = WAYS[1] as (typeof WAYS)[number];
  const session = await edge.http2(host);
  const slow = statusOf(session, { ':path': '/slow', ':method': 'POST' });
  await eventually('the slow request has arrived', () => service.slow === 1);
  for (let at = 0; at < 1_100; at += 50) {
    const statuses = Array.from({ length: 50 }, () => statusOf(session, { ':path': pathOf({ isShort: true }) }));
    assert.ok((await Promise.all(statuses)).every((status) => status === 200 || status === 0));
  }
  service.release();
  assert.equal(await slow, 200);
  session.destroy();
});

test('a response that is longer than announced takes no safe request with it', async () => {
  const { host, service } = WAYS[1] as (typeof WAYS)[number];
  const session = await edge.http2(host);
  const slow = statusOf(session, { ':path': '/slow' });
  await eventually('the slow request has arrived', () => service.slow === 1);
  // nghttp2 ends the whole session at the sixth byte.
  await statusOf(session, { ':path': pathOf({ isLong: true }) });
  await eventually('the slow request was sent again', () => service.slow === 2);
  service.release();
  assert.equal(await slow, 200);
  session.destroy();
});

test('a page that is answered unreadably again and again costs others their connection once', async () => {
  const { host, service } = WAYS[1] as (typeof WAYS)[number];
  const session = await edge.http2(host);
  assert.equal(await statusOf(session, { ':path': pathOf({ head: [70_000] }) }), 502);
  for (let round = 0; round < 3; round += 1) {
    const upload = statusOf(session, { ':path': '/slow', ':method': 'POST' });
    await eventually('the upload has arrived', () => service.slow === 1);
    assert.equal(await statusOf(session, { ':path': pathOf({ head: [70_000] }) }), 502);
    service.release();
    assert.equal(await upload, 200);
  }
  session.destroy();
});

test('1,200 cancelled requests to one agent end no connection of it', async () => {
  const { host, service } = WAYS[3] as (typeof WAYS)[number];
  for (let visitor = 0; visitor < 2; visitor += 1) {
    const session = await edge.http2(host);
    for (let batch = 0; batch < 12; batch += 1) {
      const streams = Array.from({ length: 50 }, () => session.request({ ':path': '/slow' }).on('error', () => {}));
      await eventually('all have arrived', () => service.slow === 50);
      for (const stream of streams) stream.close(constants.NGHTTP2_CANCEL);
      service.release();
    }
    session.destroy();
  }
  assert.equal(await edge.status(host, pathOf({})), 200);
  assert.deepEqual(lost, []);
});
