import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import { after, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { EdgeWorld } from '../../support/edge-world.ts';
import { recordingUpstream } from '../traffic/recording-upstream.ts';
import { echoingWebSockets, openWebSocketOverHttp2 } from '../traffic/web-socket.ts';

const MAX_REQUESTS = 50;
const MAX_STREAMS = 20;

const upstream = await recordingUpstream({ after });
echoingWebSockets(upstream);
const world = await EdgeWorld.open(
  { after },
  { POSTERN_EDGE_REQUESTS_IN_FLIGHT: String(MAX_REQUESTS), POSTERN_EDGE_STREAMS_IN_FLIGHT: String(MAX_STREAMS) },
);
const { host, edgeId } = await world.site(await world.staticBackend(upstream.address));

async function statusOf(stream: ClientHttp2Stream): Promise<{ status: number; retryAfter: string | undefined }> {
  const [headers] = (await once(stream, 'response')) as [Record<string, string>];
  stream.resume();
  return { status: Number(headers[':status']), retryAfter: headers['retry-after'] };
}

async function gauge(name: string): Promise<number> {
  return Number(new RegExp(`^${name}(?:\\{.*\\})? (\\d+)$`, 'm').exec(await world.metrics())?.[1]);
}

function ask(session: ClientHttp2Session, count: number): ClientHttp2Stream[] {
  return Array.from({ length: count }, () => session.request({ ':path': '/', ':authority': host }));
}

suite('more than one process accepts', () => {
  test('is rejected with 503 and Retry-After, while the API responds, and freed room is used again', async () => {
    const held: (() => void)[] = [];
    upstream.answer = (_request, response) => held.push(() => response.end('late'));
    const session = await world.http2(host);
    const statuses = ask(session, MAX_REQUESTS + 100).map(statusOf);
    const first = await Promise.race(statuses);
    assert.deepEqual(first, { status: 503, retryAfter: '1' });
    while (held.length < MAX_REQUESTS) await sleep(5);
    assert.equal(await gauge('postern_edge_requests_in_flight'), MAX_REQUESTS);
    assert.equal((await world.world.api('GET', '/api_keys')).status, 200);
    for (const release of held) release();
    const all = await Promise.all(statuses);
    assert.equal(all.filter(({ status }) => status === 200).length, MAX_REQUESTS);
    assert.equal(all.filter(({ status }) => status === 503).length, 100);
    assert.equal(await gauge('postern_edge_overload_refusals_total'), 100);
    assert.ok(world.world.logLines.some((line) => line.includes('edge_requests_in_flight')));
    upstream.answer = (_request, response) => response.end('soon');
    assert.equal((await statusOf(ask(session, 1)[0] as ClientHttp2Stream)).status, 200);
    assert.equal(await gauge('postern_edge_requests_in_flight'), 0);
    session.close();
    const { requests } = await world.api('GET', '/requests?status=503&limit=100');
    assert.equal(requests.length, 100);
    const { method, path, error_code: code, edge, decisions } = requests[0];
    assert.deepEqual([method, path, code, edge.id], ['GET', '/', 'ERR_POSTERN_EDGE_OVERLOADED', edgeId]);
    assert.deepEqual(decisions, [
      { module: 'edge', decision: 'refuse', reason: 'edge_overloaded', rule: 'edge_requests_in_flight' },
    ]);
  });

  test('WebSockets have a separate limit, and leave room for requests', async () => {
    upstream.answer = (_request, response) => response.end('soon');
    const session = await world.http2(host);
    const sockets = await Promise.all(
      Array.from({ length: MAX_STREAMS - 1 }, () => openWebSocketOverHttp2(session, host)),
    );
    assert.equal(await gauge('postern_edge_streams_in_flight'), MAX_STREAMS - 1);
    assert.equal(await gauge('postern_edge_requests_in_flight'), 0);
    // An endless response, such as server-sent events, is a stream too.
    let finish = (): void => {};
    upstream.answer = (_request, response) => {
      response.write('data: 1\n\n');
      finish = () => response.end();
    };
    const events = ask(session, 1)[0] as ClientHttp2Stream;
    assert.equal((await statusOf(events)).status, 200);
    assert.equal(await gauge('postern_edge_streams_in_flight'), MAX_STREAMS);
    assert.equal((await statusOf(ask(session, 1)[0] as ClientHttp2Stream)).status, 503);
    finish();
    await once(events, 'close');
    upstream.answer = (_request, response) => response.end('soon');
    for (let at = 0; at < 3; at += 1)
      assert.equal((await statusOf(ask(session, 1)[0] as ClientHttp2Stream)).status, 200);
    sockets.push(await openWebSocketOverHttp2(session, host));
    assert.equal((await statusOf(ask(session, 1)[0] as ClientHttp2Stream)).status, 503);
    for (const socket of sockets) socket.stream.destroy();
    while ((await gauge('postern_edge_streams_in_flight')) > 0) await sleep(5);
    assert.equal((await statusOf(ask(session, 1)[0] as ClientHttp2Stream)).status, 200);
    session.close();
  });
});
