import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, suite, test } from 'node:test';
import { EdgeWorld } from '../../support/edge-world.ts';
import { rawExchange } from '../traffic/raw-exchange.ts';
import { recordingUpstream } from '../traffic/recording-upstream.ts';
import { until } from './support/until.ts';

const upstream = await recordingUpstream({ after });
const world = await EdgeWorld.open({ after });
const { host, edgeId } = await world.site(await world.staticBackend(upstream.address));

async function counted(metric: string, labels: string): Promise<number> {
  const line = (await world.metrics()).split('\n').find((one) => one.startsWith(`${metric}{`) && one.includes(labels));
  return Number(line?.split(' ').at(-1) ?? 0);
}

suite('requests that the parser rejects', () => {
  for (const { name, bytes, status, code, reason } of [
    { name: 'no HTTP', bytes: 'nonsense\r\n\r\n', status: 400, code: 'ERR_POSTERN_BAD_HTTP', reason: 'bad_http' },
    {
      name: 'both Content-Length and Transfer-Encoding',
      bytes: `POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      status: 400,
      code: 'ERR_POSTERN_BAD_HTTP',
      reason: 'bad_http',
    },
    {
      name: 'a version that the parser knows and the edge does not',
      bytes: `GET / HTTP/2.0\r\nHost: ${host}\r\n\r\n`,
      status: 400,
      code: 'ERR_POSTERN_BAD_HTTP',
      reason: 'bad_http',
    },
    {
      name: 'a head that is too large',
      bytes: `GET / HTTP/1.1\r\nHost: ${host}\r\nX-Large: ${'x'.repeat(40_000)}\r\n\r\n`,
      status: 431,
      code: 'ERR_POSTERN_HEADERS_TOO_LARGE',
      reason: 'headers_too_large',
    },
  ]) {
    test(`${name}: ${status} with an id, a log line and a count`, async () => {
      const refused = await counted('postern_edge_refused_total', `module="edge",reason="${reason}"`);
      const requests = await counted('postern_edge_requests_total', `edge="",route="",status="${status}"`);
      const got = await rawExchange(await world.connect(host), bytes);
      assert.deepEqual([got.statuses, got.isClosed], [[status], true]);
      assert.match(got.bytes, new RegExp(`\\r\\npostern-error-code: ${code}\\r\\n`, 'i'));
      const id = /\r\npostern-request-id: (rq_\w+)\r\n/i.exec(got.bytes)?.[1];
      assert.ok(id !== undefined, got.bytes);
      const body = JSON.parse(got.bytes.slice(got.bytes.indexOf('\r\n\r\n') + 4));
      assert.deepEqual([body.error_code, body.status_code, body.details], [code, status, { request_id: id }]);
      const line = world.world.logLines.map((text) => JSON.parse(text)).find((one) => one.request_id === id);
      assert.deepEqual(
        [line?.status, line?.error_code, line?.refused_by, line?.edge, line?.client, line?.method],
        [status, code, `edge:${reason}`, edgeId, '127.0.0.1', null],
      );
      assert.equal(await counted('postern_edge_refused_total', `module="edge",reason="${reason}"`), refused + 1);
      assert.equal(await counted('postern_edge_requests_total', `edge="",route="",status="${status}"`), requests + 1);
      assert.deepEqual(upstream.seen, []);
    });
  }

  test('after a request in progress: its complete response comes first, then the rejection', async () => {
    const { promise: asked, resolve: onAsked } = Promise.withResolvers<ServerResponse>();
    upstream.answer = (_request, response) => onAsked(response);
    const socket = await world.connect(host);
    const got = rawExchange(socket, `GET / HTTP/1.1\r\nHost: ${host}\r\n\r\nnonsense\r\n\r\n`);
    const before = await counted('postern_edge_refused_total', 'reason="bad_http"');
    const response = await asked;
    await new Promise((resolve) => setTimeout(resolve, 100));
    assert.equal(await counted('postern_edge_refused_total', 'reason="bad_http"'), before, 'refused too early');
    response.end('the answer');
    const { statuses, bytes, isClosed } = await got;
    upstream.answer = null;
    assert.deepEqual([statuses, isClosed], [[200, 400], true]);
    assert.ok(bytes.indexOf('the answer') < bytes.indexOf('HTTP/1.1 400'), bytes);
  });

  test('in the body of a request: rejected once, and the upstream is released', async () => {
    upstream.answer = () => {};
    const socket = await world.connect(host);
    const head = `POST / HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const got = await rawExchange(socket, `${head}3\r\nabc\r\nnonsense\r\n`);
    assert.deepEqual([got.statuses, got.isClosed], [[400], true]);
    assert.match(got.bytes, /postern-request-id: rq_/i);
    await until(() => upstream.sockets.size === 0, 'the upstream is let go');
    upstream.answer = null;
  });

  test('in the body after its response has started: the response is cut, nothing is written into it', async () => {
    upstream.answer = (_request, response) => {
      response.writeHead(200, { 'content-length': 1000 });
      response.write('the beginning');
    };
    const socket = await world.connect(host);
    const head = `POST / HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const seen = new Promise<void>((resolve) => socket.once('data', () => resolve()));
    const got = rawExchange(socket, `${head}3\r\nabc\r\n`);
    await seen;
    socket.write('nonsense\r\n');
    const { statuses, bytes, isClosed } = await got;
    upstream.answer = null;
    assert.deepEqual([statuses, isClosed], [[200], true]);
    assert.ok(bytes.endsWith('the beginning'), bytes);
  });

  test('counts bytes of bodies once', async () => {
    const { text } = await world.ask(host, '/', { method: 'POST', body: 'x'.repeat(1234) });
    assert.equal(JSON.parse(text).body.length, 1234);
    const line = world.world.logLines.map((one) => JSON.parse(one)).findLast((one) => one.method === 'POST');
    assert.equal(line.bytes_in, 1234);
  });
});
