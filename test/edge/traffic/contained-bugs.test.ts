import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerHttp2Stream } from 'node:http2';
import { after, suite, test } from 'node:test';
import { Http1ResponseWriter } from '../../../src/proxy/edge/http/http1-response-writer.ts';
import { EdgeWorld } from '../../support/edge-world.ts';
import { recordingUpstream } from './recording-upstream.ts';

/** A bug is simulated by a method that throws unexpectedly, for responses with this header. */
const FAULT = 'x-fault';
const upstream = await recordingUpstream({ after });
upstream.answer = (request, response) => {
  const headers = request.url === '/fault' ? { [FAULT]: 'yes' } : {};
  setTimeout(() => response.writeHead(200, headers).end('whole'), request.url === '/slow' ? 300 : 0);
};
const world = await EdgeWorld.open({ after }, {}, { isInOneThread: true });
const { host } = await world.site(await world.staticBackend(upstream.address));

/** Injects the fault into a method. */
function breakMethod(owner: object, name: string): () => void {
  const target = owner as Record<string, (...args: unknown[]) => unknown>;
  const original = target[name] as (...args: unknown[]) => unknown;
  target[name] = function broken(this: unknown, ...args: unknown[]): unknown {
    if (args.some((argument) => Array.isArray(argument) && argument.includes(FAULT))) throw new RangeError('injected');
    return original.apply(this, args);
  };
  return () => {
    target[name] = original;
  };
}

async function bugsCounted(): Promise<number> {
  return Number(/^postern_bugs_total (\d+)$/m.exec(await world.metrics())?.[1]);
}

function assertLogged(requestId: unknown): void {
  const line = world.world.logLines.find(
    (text) => text.includes(String(requestId)) && text.includes('a bug was contained'),
  );
  assert.match(line ?? '', /"level":"error".*RangeError.*injected/);
}

suite('a bug while a response is sent', () => {
  test('to an HTTP/1.1 client is a 500, closes that connection and is counted', async (t) => {
    t.after(breakMethod(Http1ResponseWriter.prototype, 'head'));
    const before = await bugsCounted();
    const agent = world.agent();
    t.after(() => agent.destroy());
    const answer = await world.ask(host, '/fault', { agent });
    assert.deepEqual([answer.status, answer.headers['postern-error-code']], [500, 'ERR_POSTERN_EDGE_INTERNAL']);
    assert.equal(answer.headers['connection'], 'close');
    assertLogged(answer.headers['postern-request-id']);
    assert.equal(await bugsCounted(), before + 1);
    assert.equal(await world.status(host), 200);
  });

  test('to an HTTP/2 client is a 500, and others on its connection finish', async (t) => {
    t.after(breakMethod(await streamPrototype(), 'respond'));
    const session = await world.http2(host);
    const closed = once(session, 'close');
    const before = await bugsCounted();
    const slow = session.request({ ':path': '/slow' });
    const slowAnswer = once(slow, 'response');
    const stream = session.request({ ':path': '/fault' });
    const [headers] = await once(stream, 'response');
    stream.resume();
    assert.equal(headers[':status'], 500);
    assertLogged(headers['postern-request-id']);
    const [slowHeaders] = await slowAnswer;
    assert.equal(slowHeaders[':status'], 200);
    slow.resume();
    await closed;
    assert.equal(await bugsCounted(), before + 1);
    assert.equal(await world.status(host), 200);
  });
});

/** Prototype of a server's stream: the class is not public. */
async function streamPrototype(): Promise<object> {
  const { createServer, connect } = await import('node:http2');
  const server = createServer().listen(0);
  const client = connect(`http://localhost:${(server.address() as { port: number }).port}`);
  client.request().end();
  const [stream] = (await once(server, 'stream')) as [ServerHttp2Stream];
  const prototype = Object.getPrototypeOf(stream) as object;
  client.destroy();
  server.close();
  return prototype;
}
