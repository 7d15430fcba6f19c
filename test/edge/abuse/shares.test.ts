import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import { after, afterEach, suite, test } from 'node:test';
import { EdgeWorld } from '../../support/edge-world.ts';
import { rawExchange } from '../traffic/raw-exchange.ts';
import { recordingUpstream } from '../traffic/recording-upstream.ts';
import { echoingWebSockets, openWebSocketOverHttp2 } from '../traffic/web-socket.ts';
import { until } from './support/until.ts';

const MAX_REQUESTS = 200;
const MAX_STREAMS = 160;
/** Half of a budget of 200 is more than the least share of 64. */
const HALF_OF_REQUESTS = 100;
const HALF_OF_STREAMS = 80;

const upstream = await recordingUpstream({ after });
echoingWebSockets(upstream);
// Clients come from 127.0.0.1 or, through the trusted proxy at 127.0.0.9, from any address it reports.
const world = await EdgeWorld.open(
  { after },
  {
    POSTERN_EDGE_REQUESTS_IN_FLIGHT: String(MAX_REQUESTS),
    POSTERN_EDGE_STREAMS_IN_FLIGHT: String(MAX_STREAMS),
    POSTERN_TRUSTED_PROXIES: '127.0.0.9/32',
  },
);
const { host } = await world.site(await world.staticBackend(upstream.address));

async function statusOf(stream: ClientHttp2Stream): Promise<number> {
  const [headers] = (await once(stream, 'response')) as [Record<string, string>];
  stream.resume();
  return Number(headers[':status']);
}

async function gauge(name: string): Promise<number> {
  return Number(new RegExp(`^${name}(?:\\{.*\\})? (\\d+)$`, 'm').exec(await world.metrics())?.[1]);
}

async function inFlight(count: number): Promise<void> {
  await until(async () => (await gauge('postern_edge_requests_in_flight')) === count, `${count} requests in flight`);
}

/** Endless bodies, to an upstream that responds after the whole body. */
function endless(session: ClientHttp2Session, count: number, headers: Record<string, string> = {}): Promise<number>[] {
  const all = Array.from({ length: count }, () => {
    const stream = session.request({ ':method': 'POST', ':path': '/', ':authority': host, ...headers });
    stream.on('error', () => {});
    stream.write('x');
    return statusOf(stream);
  });
  for (const status of all) status.catch(() => {});
  return all;
}

function answerWholeBodies(): void {
  upstream.answer = (request, response) => void request.resume().once('end', () => response.end('whole'));
}

function fromElsewhere(options: { readonly method?: string; readonly body?: string } = {}): Promise<number> {
  return world.status(host, '/', { localAddress: '127.0.0.2', ...options });
}

afterEach(async () => {
  world.disconnect();
  await inFlight(0);
});

suite('one client address that holds as much as it can', () => {
  test('requests: it is rejected from half of them on, and other addresses are served', async () => {
    answerWholeBodies();
    const session = await world.http2(host);
    const statuses = endless(session, MAX_REQUESTS + 20);
    assert.equal(await Promise.race(statuses), 503);
    assert.equal(await fromElsewhere(), 200);
    assert.deepEqual(new Set(await Promise.all(statuses.slice(HALF_OF_REQUESTS))), new Set([503]));
    assert.equal(await gauge('postern_edge_requests_in_flight'), HALF_OF_REQUESTS);
    assert.equal(await fromElsewhere({ method: 'POST', body: 'whole' }), 200);
    assert.equal(await world.status(host), 503, 'nor on another connection');
    assert.match(await world.metrics(), /overload_refusals_total\{limit="address_requests"\} [1-9]/);
    assert.ok(world.world.logLines.some((line) => line.includes('edge_address_share')));
  });

  test('streams: WebSockets of others are still opened', async () => {
    const session = await world.http2(host);
    const sockets = Array.from({ length: HALF_OF_STREAMS }, () => openWebSocketOverHttp2(session, host));
    await Promise.all(sockets);
    upstream.answer = (_request, response) => response.end('soon');
    const refused = session.request({ ':path': '/', ':authority': host });
    assert.equal(await statusOf(refused), 503);
    const other = await world.http2(host, { localAddress: '127.0.0.2' } as object);
    assert.ok(await (await openWebSocketOverHttp2(other, host)).echoes('still room'));
    assert.match(await world.metrics(), /overload_refusals_total\{limit="address_streams"\} [1-9]/);
  });

  test('behind a trusted proxy: only it is rejected, by the address that the proxy reports, an IPv6 /64 as one', async () => {
    answerWholeBodies();
    const proxy = { localAddress: '127.0.0.9' } as object;
    const session = await world.http2(host, proxy);
    const attacks = Array.from({ length: HALF_OF_REQUESTS + 20 }, (_, at) =>
      endless(session, 1, { 'x-forwarded-for': `2001:db8::${at.toString(16)}` }),
    ).flat();
    await inFlight(HALF_OF_REQUESTS);
    assert.deepEqual(new Set(await Promise.all(attacks.slice(HALF_OF_REQUESTS))), new Set([503]));
    const from = (address: string): Promise<number> =>
      world.status(host, '/', { ...proxy, headers: { 'x-forwarded-for': address } });
    assert.equal(await from('2001:db8::ffff'), 503);
    assert.equal(await from('2001:db8:0:1::1'), 200);
    assert.equal(await from('192.0.2.1'), 200);
    session.destroy();
    await inFlight(0);
    assert.equal(await from('2001:db8::ffff'), 200, 'its share is free again');
  });
});

suite('clients of many addresses with unfinished bodies', () => {
  test('leave a quarter to requests without a body, and are ended when they are too slow', async () => {
    answerWholeBodies();
    const overHttp1 = rawExchange(
      await world.connect(host, { localAddress: '127.0.0.3' } as object),
      `POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 10\r\n\r\nabc`,
      { timeoutMs: 30_000 },
    );
    await inFlight(1);
    const session = await world.http2(host, { localAddress: '127.0.0.9' } as object);
    const statuses = Array.from({ length: MAX_REQUESTS }, (_, at) =>
      endless(session, 1, { 'x-forwarded-for': `192.0.2.${at}` }),
    ).flat();
    const threeQuarters = (3 / 4) * MAX_REQUESTS;
    await inFlight(threeQuarters);
    assert.deepEqual(new Set(await Promise.all(statuses.slice(threeQuarters - 1))), new Set([503]));
    assert.equal(await gauge('postern_edge_requests_in_flight'), threeQuarters);
    assert.equal(await fromElsewhere(), 200);
    assert.equal(await fromElsewhere({ method: 'POST', body: 'whole' }), 503);
    // Detected by two passes, five seconds apart.
    assert.deepEqual(new Set(await Promise.all(statuses.slice(0, threeQuarters - 1))), new Set([408]));
    const {
      statuses: [status],
      isClosed,
    } = await overHttp1;
    assert.deepEqual([status, isClosed], [408, true]);
    assert.equal(await fromElsewhere({ method: 'POST', body: 'whole' }), 200);
    assert.match(await world.metrics(), /reason="request_timeout"\} 150\n/);
  });
});
