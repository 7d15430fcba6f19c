import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { type Duplex, duplexPair } from 'node:stream';
import { suite, type TestContext, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { headRules } from '../edge-settings.ts';
import { Http1Client } from './http1-client.ts';
import type { IncomingRequest } from './incoming-request.ts';
import { SmallPieces } from './small-pieces.ts';

const LIMITS = {
  ...{ maxHeaderBytes: 16_384, maxHeaderCount: 100, maxConcurrentStreams: 1 },
  ...{ headersTimeoutMs: 1000, requestTimeoutMs: 3000, keepAliveTimeoutMs: 2000, sendTimeoutMs: 5000 },
};
const SWEEP = { ...LIMITS, idleTimeoutMs: 2000 };
const GET = 'GET / HTTP/1.1\r\nHost: a.test\r\n\r\n';
const POST = 'POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\n';

interface Opened {
  readonly client: Http1Client;
  readonly near: Duplex;
  readonly requests: readonly IncomingRequest[];
  /** What the client has received, without the value of Date. */
  text(): string;
  send(text: string): Promise<void>;
}

function open(t: TestContext, handle: (request: IncomingRequest) => void, isDraining = false): Opened {
  const [near, far] = duplexPair();
  const requests: IncomingRequest[] = [];
  let text = '';
  near.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
  });
  near.on('error', () => {});
  const socket = Object.assign(far, { bytesRead: 1, bytesWritten: 0, destroySoon: () => far.end(() => far.destroy()) });
  const facts = {
    ...{ serverName: '', edgeId: '', tlsGeneration: '', tlsVersion: '', clientAuthorities: [] },
    ...{ remoteAddress: '127.0.0.1', isFromProxy: false, clientCertificate: null },
  };
  const client = new Http1Client(socket as unknown as Socket, facts, {
    ...{ scheme: 'https', limits: LIMITS, drain: { isDraining }, maxHeadBytes: 20_000, keepAlive: 'Kept: yes\r\n' },
    rules: headRules({ droppedHeaders: [], hostPorts: [] }, { headers: [] }),
    turns: { run: (task) => task() },
    smallPieces: new SmallPieces(),
    handle: (_facts, request) => {
      requests.push(request);
      handle(request);
    },
  });
  client.open();
  t.after(() => {
    near.destroy();
    far.destroy();
  });
  const send = async (bytes: string): Promise<void> => {
    near.write(bytes, 'latin1');
    for (let at = 0; at < 5; at += 1) await turn();
  };
  return { client, near, requests, send, text: () => text.replaceAll(/Date: .*\r\n/g, '') };
}

const answer = ({ writer }: IncomingRequest): void => writer.answer(200, ['x', 'y'], Buffer.from('body'));
const stream = ({ writer }: IncomingRequest): void => {
  writer.head(200, [], null);
  writer.write(Buffer.from('part'));
  writer.end(['x-sum', '1']);
};

suite('a response over HTTP/1.1', () => {
  const whole = (connection: string): string =>
    `HTTP/1.1 200 OK\r\nx: y\r\n${connection}\r\ncontent-length: 4\r\n\r\nbody`;
  for (const [what, request, expected] of [
    ['keeps the connection', GET, whole('Kept: yes')],
    [
      'to Connection: close ends it',
      GET.replace('\r\n\r\n', '\r\nConnection: Close\r\n\r\n'),
      whole('Connection: close'),
    ],
    ['to HTTP/1.0 ends it', GET.replace('1.1', '1.0'), whole('Connection: close')],
    [
      'to HTTP/1.0 with keep-alive keeps it',
      GET.replace('1.1', '1.0').replace('\r\n\r\n', '\r\nConnection: keep-alive\r\n\r\n'),
      whole('Kept: yes'),
    ],
    [
      'that did not ask for an expected body ends it',
      POST.replace('\r\n\r\n', '\r\nExpect: 100-continue\r\n\r\n'),
      whole('Connection: close'),
    ],
    [
      'to HTTP/1.0 ignores an expectation (RFC 9110 §10.1.1)',
      GET.replace('1.1', '1.0').replace('\r\n\r\n', '\r\nConnection: keep-alive\r\nExpect: 100-continue\r\n\r\n'),
      whole('Kept: yes'),
    ],
    ['to HEAD has no body', GET.replace('GET', 'HEAD'), whole('Kept: yes').replace(/body$/, '')],
  ] as const) {
    test(what, async (t) => {
      const opened = open(t, answer);
      await opened.send(request);
      assert.equal(opened.text(), expected);
      assert.equal(opened.client.socket.destroyed, expected.includes('Connection: close'));
    });
  }

  test('of unknown length is chunked, with trailers', async (t) => {
    const opened = open(t, stream);
    await opened.send(GET);
    assert.match(opened.text(), /Transfer-Encoding: chunked\r\n\r\n4\r\npart\r\n0\r\nx-sum: 1\r\n\r\n$/);
  });

  test('of unknown length to HTTP/1.0 ends with the connection', async (t) => {
    const opened = open(t, stream);
    await opened.send(GET.replace('1.1', '1.0'));
    assert.match(opened.text(), /Connection: close\r\n\r\npart$/);
  });

  test('without a body has no length for 204 and 304', async (t) => {
    const opened = open(t, ({ writer }) => writer.answer(304, [], Buffer.alloc(0)));
    await opened.send(GET);
    assert.equal(opened.text(), 'HTTP/1.1 304 Not Modified\r\nKept: yes\r\n\r\n');
  });

  test('leaves before its body when that takes longer than a turn', async (t) => {
    const opened = open(t, ({ writer }) => writer.head(200, [], null));
    await opened.send(GET);
    assert.match(opened.text(), /chunked\r\n\r\n$/);
  });

  test('cannot be split or reframed by a header', async (t) => {
    const thrown: unknown[] = [];
    const opened = open(t, ({ writer }) => {
      for (const fields of [
        ['x', 'a\r\nset-cookie: b'],
        ['x\r\ny', 'a'],
        ['x', '\u010a'],
        ['content-length', '1'],
        ['Transfer-Encoding', 'chunked'],
        ['connection', 'close'],
      ]) {
        try {
          writer.answer(200, fields, Buffer.alloc(0));
        } catch (error) {
          thrown.push((error as { readonly code?: string }).code);
        }
      }
    });
    await opened.send(GET);
    assert.deepEqual(
      thrown,
      Array.from({ length: 6 }, () => 'ERR_INVALID_CHAR'),
    );
    assert.equal(opened.text(), '');
  });

  test('says that it is the last one while the server drains', async (t) => {
    const opened = open(t, answer, true);
    await opened.send(GET);
    assert.match(opened.text(), /Connection: close/);
  });
});

suite('requests over HTTP/1.1', () => {
  test('are not served while the client does not read the responses before them', async (t) => {
    const opened = open(t, ({ writer }) => writer.answer(200, [], Buffer.alloc(300_000)));
    opened.near.pause();
    await opened.send(GET.repeat(50));
    assert.equal(opened.requests.length, 1);
    opened.near.resume();
    for (let at = 0; at < 2000 && opened.requests.length < 50; at += 1) await turn();
    assert.equal(opened.requests.length, 50);
  });

  test('follow a body that nobody has read', async (t) => {
    const opened = open(t, answer);
    const part = 'x'.repeat(100_000);
    await opened.send(POST.replace('5', '300000') + part);
    assert.equal(opened.requests.length, 1);
    await opened.send(part);
    await opened.send(part + GET);
    for (let at = 0; at < 100 && opened.requests.length < 2; at += 1) await turn();
    assert.equal(opened.requests.length, 2);
  });

  test('to switch get the bytes that came behind them', async (t) => {
    const got: string[] = [];
    const opened = open(t, ({ writer }) => {
      writer
        .acceptSwitch(101, [])
        .on('data', (chunk: Buffer) => got.push(String(chunk)))
        .resume();
    });
    await opened.send(`${GET.replace('\r\n\r\n', '\r\nConnection: x, Upgrade\r\nUpgrade: WebSocket\r\n\r\n')}first`);
    await opened.send(GET);
    assert.equal(got.join(''), `first${GET}`);
    assert.equal(opened.requests.length, 1);
  });

  for (const [what, sent, lastsMs, expected] of [
    ['a head that does not end', GET.slice(0, 20), 1000, /^HTTP\/1\.1 408/],
    ['a body that does not end', `${POST}he`, 3000, /^HTTP\/1\.1 408/],
  ] as const) {
    test(`${what} is refused in time, not before`, async (t) => {
      const opened = open(t, ({ reading, writer }) => {
        if (!reading.ok) writer.answer(408, [], Buffer.alloc(0));
        else writer.onGone = () => writer.answer(408, [], Buffer.alloc(0));
      });
      await opened.send(sent);
      opened.client.check(0, SWEEP);
      opened.client.check(lastsMs - 1, SWEEP);
      await opened.send('');
      assert.equal(opened.text(), '');
      opened.client.check(lastsMs, SWEEP);
      await opened.send('');
      assert.match(opened.text(), expected);
    });
  }

  test('may be apart by the time of an idle connection, and by no more', async (t) => {
    const opened = open(t, answer);
    for (const startMs of [0, 10_000]) {
      await opened.send(GET);
      opened.client.check(startMs, SWEEP);
      opened.client.check(startMs + 1999, SWEEP);
      assert.ok(!opened.client.socket.destroyed);
    }
    opened.client.check(12_000, SWEEP);
    assert.ok(opened.client.socket.destroyed);
  });
});
