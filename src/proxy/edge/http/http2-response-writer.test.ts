import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  createServer,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { suite, type TestContext, test } from 'node:test';
import type { ConnectionFacts } from '../connections/connection-facts.ts';
import { Http2Client } from './http2-client.ts';
import { Http2ResponseWriter } from './http2-response-writer.ts';
import { SmallPieces } from './small-pieces.ts';
import { UnreadUploads } from './unread-bodies.ts';

interface Arrived {
  readonly stream: ServerHttp2Stream;
  readonly writer: Http2ResponseWriter;
  readonly client: Http2Client;
}

/** Sends one request to a server that only creates its writer. */
async function arrive(
  t: TestContext,
  send: (session: ClientHttp2Session) => ClientHttp2Stream,
): Promise<Arrived & { readonly request: ClientHttp2Stream }> {
  const server = createServer();
  let client: Http2Client | undefined;
  server.on('session', (session: ServerHttp2Session) => {
    const shares = { uploads: new UnreadUploads(), smallPieces: new SmallPieces() };
    client = new Http2Client(session, session.socket as Socket, {} as ConnectionFacts, shares);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  t.after(() => {
    session.destroy();
    server.close();
  });
  const request = send(session).on('error', () => {});
  const [stream] = (await once(server, 'stream')) as [ServerHttp2Stream];
  const writer = new Http2ResponseWriter(stream, 'GET', client as Http2Client);
  return { stream, writer, client: client as Http2Client, request };
}

const get = (session: ClientHttp2Session): ClientHttp2Stream => session.request({ ':path': '/' });
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

suite('the response to a request without a body, over HTTP/2', () => {
  test('adds no listener to its stream, and notices its end', async (t) => {
    const { stream, writer, client, request } = await arrive(t, get);
    const gone: unknown[] = [];
    writer.onGone = (problem) => gone.push(problem);
    for (const event of ['close', 'error', 'drain', 'end', 'aborted'])
      assert.equal(stream.listenerCount(event), 0, event);
    writer.head(200, ['x-own', 'one'], 4);
    writer.write(Buffer.from('text'));
    writer.end([]);
    assert.equal((await request.setEncoding('utf8').toArray()).join(''), 'text');
    while (client.hasRequests) await turn();
    assert.deepEqual([gone, stream.destroyed, stream.rstCode], [[], true, 0]);
  });

  test('has trailers', async (t) => {
    const { writer, request } = await arrive(t, get);
    const trailers = once(request, 'trailers');
    writer.head(200, [], null);
    writer.write(Buffer.from('text'));
    writer.end(['grpc-status', '0']);
    request.resume();
    const [fields] = (await trailers) as [Record<string, string>];
    assert.equal(fields['grpc-status'], '0');
  });

  test('waits for a client that reads slowly', async (t) => {
    const { writer, request } = await arrive(t, get);
    const drained = new Promise<void>((resolve) => {
      writer.onDrain = resolve;
    });
    writer.head(200, [], null);
    while (writer.write(Buffer.alloc(65_536)));
    request.resume();
    await drained;
    writer.end([]);
    await once(request, 'end');
  });

  for (const code of [0, 2, 8]) {
    test(`ends when its client resets it with code ${code}`, async (t) => {
      const { writer, client, request } = await arrive(t, get);
      const gone = new Promise((resolve) => {
        writer.onGone = resolve;
      });
      request.close(code);
      assert.equal(await gone, undefined);
      while (client.hasRequests) await turn();
      assert.equal(writer.isGone, true);
    });
  }

  test('contains an exception of its end', async (t) => {
    const { writer, request } = await arrive(t, get);
    const bug = new Error('injected');
    const seen = new Promise((resolve) => {
      writer.onBug = resolve;
    });
    writer.onGone = () => {
      throw bug;
    };
    request.close(8);
    assert.equal(await seen, bug);
  });
});

test('a request with a body keeps its listeners, over HTTP/2', async (t) => {
  const { stream } = await arrive(t, (session) => session.request({ ':path': '/', ':method': 'POST' }));
  assert.equal(stream.listenerCount('close'), 1);
});
