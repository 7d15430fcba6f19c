import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  type ClientHttp2Stream,
  constants,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
  sensitiveHeaders,
} from 'node:http2';
import { after, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasStreamEnd, resetStream, watchStreamEnd } from '../../../src/kit/http2/stream-end.ts';
import type { AgentLink } from '../../../src/proxy/edge/tunnels/online-tunnels.ts';
import { eventually } from '../../tunnel/support/fault-world.ts';
import { HopWorld, TUNNEL } from './hop-world.ts';

const world = await HopWorld.open({ after }, 1);
const [holder] = world.holders;
assert.ok(holder);
const { agent, node, tunnels, open } = holder;
const MB = 1_048_576;

interface Carried {
  /** At the node with the client. */
  readonly client: ClientHttp2Stream;
  /** At the agent. */
  readonly served: ServerHttp2Stream;
  readonly headers: IncomingHttpHeaders;
  readonly raw: readonly string[];
}

const REQUEST = [
  ...[':method', 'POST', ':scheme', 'https', ':authority', 'a.example', ':path', '/x?y'],
  ...['postern-tunnel', TUNNEL],
];
const CONNECTION = [':method', 'CONNECT', ':authority', TUNNEL];
const WEB_SOCKET = [
  ...[':method', 'CONNECT', ':protocol', 'websocket', ':scheme', 'https', ':authority', 'a.example', ':path', '/x?y'],
  ...['postern-tunnel', TUNNEL],
];

async function carry(head: readonly string[] = CONNECTION): Promise<Carried> {
  const link = world.linkTo(node);
  assert.ok(link);
  const arrived = Promise.withResolvers<Omit<Carried, 'client'>>();
  agent.handle = (served, headers) => {
    watchStreamEnd(served);
    // The runtime closes a stream that has responded and that nobody ever touched.
    served.pause();
    arrived.resolve({ served, headers, raw: [] });
  };
  const client = link.request(head, { endStream: false, waitForTrailers: false });
  watchStreamEnd(client);
  client.on('error', () => {});
  client.once('close', () => link.release(client));
  return { client, ...(await arrived.promise) };
}

async function bytesOf(stream: ClientHttp2Stream | ServerHttp2Stream): Promise<string> {
  const chunks: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => chunks.push(chunk)).resume();
  await eventually('it ends', () => stream.readableEnded || stream.destroyed);
  return Buffer.concat(chunks).toString();
}

async function nothingIsLeft(): Promise<void> {
  await eventually('all streams are closed', () => {
    return agent.active === 0 && tunnels.get(TUNNEL)?.inFlight === 0 && open.streams === 0;
  });
}

suite('a stream over a hop', () => {
  test('carries heads, informational responses and data both ways, unchanged', async () => {
    const head = [...WEB_SOCKET, 'x-a', '1', 'x-a', '2', 'cookie', 'a=b', 'cookie', 'c=d'];
    const { client, served, headers } = await carry([...head, 'postern-request-id', 'rq_1']);
    const informational: unknown[] = [];
    client.on('headers', (one, _flags, raw: string[]) => informational.push([one[':status'], raw.slice(2)]));
    assert.deepEqual([headers['x-a'], headers['cookie'], headers[':path']], ['1, 2', 'a=b; c=d', '/x?y']);
    // The header's values never repeat, and would fill the table of the agent's connection.
    const neverIndexed: readonly string[] = Reflect.get(headers, sensitiveHeaders);
    assert.deepEqual([headers['postern-request-id'], neverIndexed.at(-1)], ['rq_1', 'postern-request-id']);
    served.additionalHeaders({ ':status': 103, link: ['</a>', '</b>'] });
    const answer = [
      ':status',
      '403',
      'set-cookie',
      'a=1',
      'set-cookie',
      'b=2',
      'date',
      'Mon, 16 Nov 2026 00:00:00 GMT',
    ];
    const answered = once(client, 'response');
    const response = bytesOf(client);
    served.respond(answer);
    served.end('the response');
    const [, , raw] = (await answered) as [unknown, number, string[]];
    assert.deepEqual(raw, answer);
    assert.equal(await response, 'the response');
    assert.ok(hasStreamEnd(client));
    const body = bytesOf(served);
    client.end('the body');
    assert.equal(await body, 'the body');
    assert.ok(hasStreamEnd(served));
    assert.deepEqual(informational, [[103, ['link', '</a>', 'link', '</b>']]]);
    await nothingIsLeft();
  });

  test('carries a connection and a WebSocket, each direction ended separately', async () => {
    for (const head of [[...CONNECTION, 'postern-client-address', '192.0.2.1:1'], WEB_SOCKET]) {
      for (const isClientFirst of [true, false]) {
        const { client, served, headers } = await carry(head);
        assert.equal(headers[':method'], 'CONNECT');
        served.respond([':status', '200']);
        await once(client, 'response');
        const [first, second] = isClientFirst ? [client, served] : [served, client];
        const received = bytesOf(second);
        first.write('one ');
        first.end('way');
        assert.equal(await received, 'one way');
        assert.ok(hasStreamEnd(second));
        const back = bytesOf(first);
        second.end('and back');
        assert.equal(await back, 'and back');
        assert.ok(hasStreamEnd(first));
        await nothingIsLeft();
      }
    }
  });

  test('carries data and ends that arrive in one segment with their heads', async () => {
    for (const head of [CONNECTION, WEB_SOCKET]) {
      const link = world.linkTo(node);
      assert.ok(link);
      agent.handle = (served) => {
        watchStreamEnd(served);
        served.respond([':status', '200']);
        served.write('before ');
        served.on('data', (chunk: Buffer) => served.write(chunk)).once('end', () => served.end(' after'));
      };
      const client = link.request(head, { endStream: false, waitForTrailers: false });
      watchStreamEnd(client);
      client.on('error', () => {}).once('close', () => link.release(client));
      client.end('body');
      assert.equal(await bytesOf(client), 'before body after');
      assert.ok(hasStreamEnd(client));
      await nothingIsLeft();
    }
  });

  test('passes on a reset with its code, and never as an end', async () => {
    const codes = [
      ...[constants.NGHTTP2_NO_ERROR, constants.NGHTTP2_PROTOCOL_ERROR, constants.NGHTTP2_INTERNAL_ERROR],
      ...[constants.NGHTTP2_REFUSED_STREAM, constants.NGHTTP2_CANCEL, constants.NGHTTP2_ENHANCE_YOUR_CALM],
      constants.NGHTTP2_HTTP_1_1_REQUIRED,
    ];
    for (const code of codes) {
      for (const isAnswered of [false, true]) {
        for (const isByAgent of [true, false]) {
          const { client, served } = await carry();
          if (isAnswered) {
            served.respond([':status', '200']);
            served.write('a part');
            await once(client, 'response');
          }
          const [from, to] = isByAgent ? [served, client] : [client, served];
          to.resume();
          resetStream(from, code);
          await eventually('the reset arrives', () => to.closed);
          const what = `${code} ${isAnswered ? 'after' : 'before'} the response, by the ${isByAgent ? 'agent' : 'client'}`;
          // A client that goes away with NO_ERROR must not look content to the agent.
          const expected = isByAgent || code !== constants.NGHTTP2_NO_ERROR ? code : constants.NGHTTP2_CANCEL;
          assert.equal(to.rstCode, expected, what);
          assert.equal(hasStreamEnd(to), false, what);
          await nothingIsLeft();
        }
      }
    }
  });

  test('a response that ends before the request stops the request', async () => {
    const { client, served } = await carry(WEB_SOCKET);
    served.resume();
    client.write('some');
    await once(served, 'data');
    served.respond([':status', '413', 'content-length', '3'], {});
    served.end('no!');
    served.close(constants.NGHTTP2_NO_ERROR);
    assert.equal(await bytesOf(client), 'no!');
    assert.ok(hasStreamEnd(client));
    await eventually('it is closed', () => client.destroyed);
    assert.equal(client.rstCode, constants.NGHTTP2_NO_ERROR);
    await nothingIsLeft();
  });

  test('waits for a slow reader on either side, and holds little in between', async () => {
    const { client, served } = await carry();
    served.respond([':status', '200']);
    await once(client, 'response');
    const chunk = Buffer.alloc(MB, 'x');
    for (const [writer, reader] of [
      [client, served],
      [served, client],
    ] as const) {
      reader.pause();
      let written = 0;
      // Nothing more is taken once the buffers on the way are full for a while.
      for (let idle = 0; idle < 60 && written < 400 * MB; idle += 1) {
        for (; !writer.writableNeedDrain && written < 400 * MB; idle = 0) {
          written += chunk.length;
          writer.write(chunk);
        }
        await sleep(5);
      }
      assert.ok(written < 150 * MB, `${Math.round(written / MB)} MB were taken for a reader that reads nothing`);
      let read = 0;
      reader.on('data', (data: Buffer) => {
        read += data.length;
      });
      reader.resume();
      await eventually('all arrives', () => read === written);
    }
    client.end();
    served.end();
    await nothingIsLeft();
  });

  test('for a tunnel that is not here is refused before its body is taken', async () => {
    const link = world.linkTo(node);
    assert.ok(link);
    for (const head of [
      WEB_SOCKET.with(-1, 'tn_gone'),
      CONNECTION.with(-1, 'tn_gone'),
      [':method', 'CONNECT', ':protocol', 'websocket', ':scheme', 'https', ':authority', 'a', ':path', '/'],
    ]) {
      const stream = link.request(head, { endStream: false, waitForTrailers: false });
      const heads: unknown[] = [];
      stream.on('error', () => {}).on('headers', (one) => heads.push(one));
      await eventually('it is refused', () => stream.closed);
      link.release(stream);
      assert.equal(stream.rstCode, constants.NGHTTP2_REFUSED_STREAM);
      assert.deepEqual(heads, []);
    }
    await nothingIsLeft();
  });

  test('is whole when the service declines a WebSocket and then reads no more, all in one packet', async () => {
    for (const length of [{}, { 'content-length': '9' }]) {
      const { client, served } = await carry(WEB_SOCKET);
      let text = '';
      client.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      served.respond({ ':status': 413, ...length });
      served.end('too large');
      served.close(constants.NGHTTP2_NO_ERROR);
      await eventually('it ends', () => client.closed);
      assert.deepEqual([text, hasStreamEnd(client)], ['too large', true], JSON.stringify(length));
      await nothingIsLeft();
    }
  });

  test('a request that is not on the channel is refused, whatever its path', async () => {
    const link = world.linkTo(node);
    assert.ok(link);
    const before = agent.seen.length;
    for (const path of ['/x?y', '/call/session.yield', '/feed/directory', '/channel/1']) {
      const stream = link.request(REQUEST.with(7, path), { endStream: true, waitForTrailers: false });
      let head: unknown = null;
      stream.on('error', () => {}).on('response', (one) => (head = one));
      await eventually('it is refused', () => stream.closed);
      link.release(stream);
      assert.deepEqual([head, stream.rstCode], [null, constants.NGHTTP2_REFUSED_STREAM], path);
    }
    assert.equal(agent.seen.length, before);
    assert.equal(world.linkTo(node), link);
    await nothingIsLeft();
  });

  test('closes when the agent goes with NO_ERROR while data for a slow visitor waits', async (t) => {
    const own = await HopWorld.open(t, 1);
    const [one] = own.holders;
    const link = one && own.linkTo(one.node);
    assert.ok(one !== undefined && link !== undefined);
    one.agent.handle = (served) => {
      served.respond({ ':status': 200 });
      const more = (): void => {
        while (!served.destroyed && served.write(Buffer.alloc(16_384)));
      };
      served.on('drain', more).on('error', () => {});
      more();
    };
    const clients = Array.from({ length: 3 }, () => {
      const client = link.request(CONNECTION, { endStream: false, waitForTrailers: false });
      client.on('error', () => {}).once('close', () => link.release(client));
      return client.pause();
    });
    await eventually('all are open', () => one.open.streams === 3);
    await sleep(500);
    one.agent.links[0]?.session.destroy();
    for (const client of clients) client.resume();
    await eventually('all streams are closed', () => one.open.streams === 0);
  });

  test('sends nothing of a response whose head cannot be sent', async () => {
    const link = world.linkTo(node);
    const local = tunnels.get(TUNNEL);
    const to = local?.link();
    assert.ok(link && local && to);
    const request: AgentLink['request'] = (headers, options) => {
      const stream = to.request(headers, options);
      // All in one turn: the reset follows later.
      setImmediate(() => {
        stream.emit('response', { ':status': 600 }, 0, [':status', '600']);
        stream.push(Buffer.from('a body'));
        stream.push(null);
      });
      return stream;
    };
    const parts = { hasRoom: true, reset: to.reset.bind(to), release: to.release.bind(to), request };
    tunnels.add('tn_malformed', { link: () => parts } as never);
    const stream = link.request(WEB_SOCKET.with(-1, 'tn_malformed'), { endStream: false, waitForTrailers: false });
    let head: unknown = null;
    stream.on('error', () => {}).once('response', (received) => (head = received));
    await eventually('it is reset', () => stream.closed);
    link.release(stream);
    assert.deepEqual([head, stream.rstCode], [null, constants.NGHTTP2_PROTOCOL_ERROR]);
  });

  test('is refused unprocessed when the agent has just gone', async () => {
    const link = world.linkTo(node);
    assert.ok(link);
    tunnels.add('tn_ending', { link: () => ({ request: ended }) } as never);
    const stream = link.request(WEB_SOCKET.with(-1, 'tn_ending'), { endStream: false, waitForTrailers: false });
    stream.on('error', () => {});
    await eventually('it is refused', () => stream.closed);
    link.release(stream);
    assert.equal(stream.rstCode, constants.NGHTTP2_REFUSED_STREAM);
  });
});

function ended(): never {
  throw Object.assign(new Error('The session has been destroyed'), { code: 'ERR_HTTP2_INVALID_SESSION' });
}
