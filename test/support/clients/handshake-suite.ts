import assert from 'node:assert/strict';
import { once } from 'node:events';
import { suite, test } from 'node:test';
import type { RecordingUpstream } from '../../edge/traffic/recording-upstream.ts';
import { acceptOf } from '../../edge/traffic/web-socket.ts';
import type { EdgeClients } from '../edge-clients.ts';

export interface HandshakeWay {
  readonly name: string;
  readonly edge: EdgeClients;
  readonly host: string;
  readonly upstream: RecordingUpstream;
}

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly headers: Readonly<Record<string, unknown>>;
}

const KEY = 'dGhlIHNhbXBsZSBub25jZQ==';

function respond(upstream: RecordingUpstream, lines: readonly string[], body = ''): void {
  upstream.onUpgrade = (request, socket) => {
    const accept = acceptOf(String(request.headers['sec-websocket-key']));
    socket.end(`HTTP/1.1 ${lines.join('\r\n').replace('ACCEPT', accept)}\r\n\r\n${body}`);
  };
}

async function overHttp1({ edge, host }: HandshakeWay): Promise<Answer> {
  const socket = await edge.connect(host);
  let received = '';
  socket.setEncoding('latin1').on('data', (text: string) => {
    received += text;
  });
  socket.write(
    `GET /chat HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: ${KEY}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: offered\r\n\r\n`,
  );
  await once(socket, 'close');
  const [head = '', text = ''] = received.split('\r\n\r\n', 2);
  const headers = Object.fromEntries(
    head
      .split('\r\n')
      .slice(1)
      .map((line) => line.split(': ', 2) as [string, string]),
  );
  return { status: Number(head.slice(9, 12)), text, headers };
}

async function overHttp2({ edge, host }: HandshakeWay): Promise<Answer> {
  const session = await edge.http2(host);
  const stream = session.request(
    {
      ':method': 'CONNECT',
      ':protocol': 'websocket',
      ':scheme': 'https',
      ':path': '/chat',
      ':authority': host,
      'sec-websocket-version': '13',
      'sec-websocket-protocol': 'offered',
    },
    { endStream: false },
  );
  stream.on('error', () => {});
  const [headers] = await once(stream, 'response');
  let text = '';
  for await (const part of stream.setEncoding('latin1')) text += part;
  session.destroy();
  return { status: Number(headers[':status']), text, headers };
}

/** An ordinary response to a handshake reaches the visitor as it is, unless it would look like an open WebSocket. */
export function handshakeSuite(way: HandshakeWay): void {
  const { name, upstream } = way;
  const switching = ['101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade'];

  suite(`responses to a handshake of a WebSocket through ${name}`, () => {
    for (const [status, body, http2Status] of [
      [200, 'a page', 502],
      [204, '', 502],
      [302, '', 302],
      [403, 'no', 403],
      [426, 'old', 426],
      [503, 'later', 503],
    ] as const)
      test(`${status} instead of 101`, async () => {
        const framing = status === 204 ? [] : [`Content-Length: ${body.length}`];
        respond(upstream, [`${status} Status`, ...framing, 'X-From: service'], body);
        const [http1, http2] = [await overHttp1(way), await overHttp2(way)];
        assert.deepEqual([http1.status, http1.text, http1.headers['x-from']], [status, body, 'service']);
        assert.equal(http2.status, http2Status);
        if (http2Status === 502) assert.equal(http2.headers['postern-error-code'], 'ERR_POSTERN_UPSTREAM_BROKEN');
        else assert.deepEqual([http2.text, http2.headers['x-from']], [body, 'service']);
        assert.deepEqual(
          [http1.headers['postern-tunnel-status'], http2.headers['postern-tunnel-status']],
          [undefined, undefined],
        );
      });

    for (const [what, lines] of [
      ['a wrong Sec-WebSocket-Accept', [...switching, `Sec-WebSocket-Accept: ${acceptOf('other')}`]],
      ['no Sec-WebSocket-Accept', switching],
      ['two of Sec-WebSocket-Accept', [...switching, 'Sec-WebSocket-Accept: ACCEPT', 'Sec-WebSocket-Accept: x']],
      ['another protocol', ['101 Switching Protocols', 'Upgrade: h2c', 'Sec-WebSocket-Accept: ACCEPT']],
    ] as const)
      test(`101 with ${what} is 502`, async () => {
        respond(upstream, lines);
        for (const answer of [await overHttp1(way), await overHttp2(way)]) {
          assert.equal(answer.status, 502);
          assert.equal(answer.headers['postern-error-code'], 'ERR_POSTERN_UPSTREAM_BROKEN');
        }
      });

    test('101 to a request that did not ask is 502', async () => {
      upstream.answer = (request) => {
        request.socket.end(`HTTP/1.1 ${switching.join('\r\n')}\r\nSec-WebSocket-Accept: ${acceptOf(KEY)}\r\n\r\n`);
      };
      assert.equal(await way.edge.status(way.host), 502);
      upstream.answer = null;
    });

    test('a valid 101 opens it, and a subprotocol that was not offered is for the visitor to reject', async () => {
      for (const protocol of ['offered', 'not-offered']) {
        respond(
          upstream,
          [...switching, 'Sec-WebSocket-Accept: ACCEPT', `Sec-WebSocket-Protocol: ${protocol}`],
          'bytes',
        );
        const [http1, http2] = [await overHttp1(way), await overHttp2(way)];
        assert.deepEqual([http1.status, http1.text, http2.status, http2.text], [101, 'bytes', 200, 'bytes']);
        assert.equal(http1.headers['sec-websocket-accept'], acceptOf(KEY));
        for (const { headers } of [http1, http2]) assert.equal(headers['sec-websocket-protocol'], protocol);
      }
    });
  });
}
