import assert from 'node:assert/strict';
import type { ServerHttp2Stream } from 'node:http2';
import { after, test } from 'node:test';
import { Answer, answering, ask, assertNothingLeft, upstreamTo } from './ask.ts';
import { backendCertificate, http2Server } from './tls-servers.ts';

after(assertNothingLeft);

const REQUEST = {
  method: 'GET',
  target: '/',
  authority: 'x',
  headers: [],
  body: { framing: 'none' },
  switchTo: null,
} as const;
const CALLS = ['onHead', 'onData'] as const;

/** A handler that throws at one of its calls. Resolves with the reported bug. */
function throwingAt(call: (typeof CALLS)[number]): { handler: Answer; bug: Promise<unknown> } {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  const handler = Object.assign(new Answer(), {
    [call]: () => {
      throw new RangeError('injected');
    },
    onBug: resolve,
  });
  return { handler, bug: promise };
}

for (const call of CALLS) {
  test(`HTTP/1.1: a handler that throws in ${call} gets the error, and its connection is not reused`, async () => {
    await using server = await answering('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    await using given = upstreamTo(server.port);
    const { handler, bug } = throwingAt(call);
    given.upstream.send(REQUEST, handler);
    assert.match(String(await bug), /injected/);
    assert.deepEqual(given.upstream.stats(), { idle: 0, active: 0 });
    assert.equal((await ask(given.upstream)).body, 'ok');
  });

  test(`HTTP/2: a handler that throws in ${call} gets the error, and the session continues`, async () => {
    await using server = await http2Server();
    server.server.on('stream', (stream: ServerHttp2Stream) => {
      stream.on('error', () => {});
      stream.respond({ ':status': 200 });
      stream.end('ok');
    });
    const { certificatePem } = await backendCertificate();
    await using given = upstreamTo(server.port, { tls: { servername: 'backend.test', ca: certificatePem } });
    const { handler, bug } = throwingAt(call);
    given.upstream.send(REQUEST, handler);
    assert.match(String(await bug), /injected/);
    assert.equal((await ask(given.upstream)).body, 'ok');
    assert.equal(server.accepted(), 1);
    assert.equal(given.upstream.stats().active, 0);
  });
}
