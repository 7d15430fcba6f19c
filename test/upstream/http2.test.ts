import assert from 'node:assert/strict';
import { constants, type IncomingHttpHeaders, type ServerHttp2Stream, sensitiveHeaders } from 'node:http2';
import { PassThrough, Readable } from 'node:stream';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RequestBody } from '../../src/proxy/upstream/upstream.ts';
import { Answer, ask, assertNothingLeft, type TestUpstreamOptions, upstreamTo } from './ask.ts';
import { backendCertificate, http2Server } from './tls-servers.ts';

after(assertNothingLeft);

async function trusting(limits: NonNullable<TestUpstreamOptions['limits']> = {}): Promise<TestUpstreamOptions> {
  const { certificatePem } = await backendCertificate();
  return { tls: { servername: 'backend.test', ca: certificatePem }, limits };
}

function onStream(
  { server }: Awaited<ReturnType<typeof http2Server>>,
  handle: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void,
): void {
  server.on('stream', (stream, headers) => handle(stream as ServerHttp2Stream, headers));
}

function withLength(text: string, bytes = text.length, expectsContinue = false): RequestBody {
  return { framing: 'length', bytes, source: Readable.from([Buffer.from(text)]), expectsContinue };
}

test('concurrent requests on one session', async () => {
  await using server = await http2Server();
  onStream(server, (stream, headers) => {
    stream.respond({ ':status': 200, 'x-path': headers[':path'], 'content-length': 2 });
    stream.end('ok');
  });
  await using given = upstreamTo(server.port, await trusting());
  const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => ask(given.upstream, { target: `/${i}` })));
  answers.forEach((answer, i) => {
    assert.deepEqual(answer.head, {
      status: 200,
      headers: ['x-path', `/${i}`, 'date', answer.head?.headers[3]],
      bodyBytes: 2,
      declaredBytes: 2,
    });
    assert.equal(answer.body, 'ok');
  });
  assert.equal(server.accepted(), 1);
  assert.deepEqual(given.upstream.stats(), { idle: 1, active: 0 });
});

for (const [what, body] of [
  ['an empty response', ''],
  ['a response', 'whole'],
] as const) {
  test(`${what} ends with its announced length, even if its stream does not`, async () => {
    await using server = await http2Server();
    const closed = Promise.withResolvers<number | undefined>();
    onStream(server, (stream) => {
      stream.on('error', () => {});
      stream.once('close', () => closed.resolve(stream.rstCode));
      stream.respond({ ':status': 200, 'content-length': body.length });
      if (body !== '') stream.write(body);
    });
    await using given = upstreamTo(server.port, await trusting());
    const answer = await ask(given.upstream, {});
    assert.deepEqual([answer.head?.status, answer.body, answer.failure], [200, body, null]);
    assert.equal(await closed.promise, constants.NGHTTP2_CANCEL);
    assert.equal(given.upstream.stats().active, 0);
  });
}

test('ids of a request stay out of the header table of the connection', async () => {
  await using server = await http2Server();
  onStream(server, (stream, headers) => {
    stream.respond({ ':status': 200, 'x-never': String(Reflect.get(headers, sensitiveHeaders)), 'content-length': 0 });
    stream.end();
  });
  await using given = upstreamTo(server.port, await trusting());
  const headers = ['accept', '*/*', 'postern-request-id', 'rq_1', 'traceparent', '00-1-2-00'];
  const { head } = await ask(given.upstream, { headers });
  assert.equal(head?.headers[1], 'postern-request-id,traceparent');
});

test("bodies, trailers both ways, TE, cookies and the upstream's view", async () => {
  await using server = await http2Server();
  onStream(server, (stream, headers) => {
    const sums: unknown[] = [];
    stream.on('trailers', (trailers) => sums.push(trailers['x-sum']));
    stream.respond(
      {
        ':status': 200,
        'x-seen': JSON.stringify([headers.te, headers['content-length'], headers.cookie, headers[':authority']]),
      },
      { waitForTrailers: true },
    );
    stream.on('wantTrailers', () =>
      stream.sendTrailers({ 'grpc-status': '0', 'x-sums': JSON.stringify(sums), 'content-type': 'no' }),
    );
    stream.pipe(stream);
  });
  await using given = upstreamTo(server.port, await trusting());
  const body: RequestBody = {
    framing: 'chunked',
    source: Readable.from([Buffer.from('hel'), Buffer.from('lo')]),
    expectsContinue: false,
    isWhole: () => true,
    trailers: () => ['x-sum', '7', 'content-length', '9'],
  };
  const answer = await ask(given.upstream, {
    method: 'POST',
    body,
    headers: ['te', 'trailers', 'cookie', 'a=1', 'cookie', 'b=2'],
  });
  assert.deepEqual([answer.body, answer.trailers], ['hello', ['grpc-status', '0', 'x-sums', '["7"]']]);
  assert.equal(answer.head?.headers[1], '["trailers",null,"a=1; b=2","app.test"]');
  const fixed = await ask(given.upstream, { method: 'POST', body: withLength('hello') });
  assert.deepEqual([fixed.body, fixed.head?.headers[1]], ['hello', '[null,"5",null,"app.test"]']);
  const short = await ask(given.upstream, { method: 'POST', body: withLength('hello', 6) });
  assert.equal(short.failure?.reason, 'request_body');
  assert.throws(() => void ask(given.upstream, { headers: ['x', 'a\r\nb: c'] }), { name: 'UnsafeRequestError' });
  assert.equal(server.accepted(), 1);
});

test('informational responses, HEAD, 304, empty responses', async () => {
  await using server = await http2Server();
  onStream(server, (stream, headers) => {
    stream.additionalHeaders({ ':status': 103, link: '</a>' });
    const status = headers[':path'] === '/304' ? 304 : 200;
    stream.respond(
      { ':status': status, 'content-length': 5 },
      { endStream: headers[':method'] === 'HEAD' || status === 304 },
    );
    if (!stream.writableEnded) stream.end('hello');
  });
  await using given = upstreamTo(server.port, await trusting());
  const head = await ask(given.upstream, { method: 'HEAD' });
  assert.deepEqual(
    [head.informational, head.head?.bodyBytes, head.head?.declaredBytes],
    [[[103, ['link', '</a>']]], 0, 5],
  );
  const unchanged = await ask(given.upstream, { target: '/304' });
  assert.deepEqual([unchanged.head?.status, unchanged.head?.bodyBytes, unchanged.body], [304, 0, '']);
});

test('100-continue: awaited, and given up', async () => {
  await using server = await http2Server();
  onStream(server, (stream, headers) => {
    assert.equal(headers['expect'], '100-continue');
    if (headers[':path'] !== '/silent') stream.additionalHeaders({ ':status': 100 });
    stream.once('data', (chunk: Buffer) => {
      stream.respond({ ':status': 200 });
      stream.end(chunk);
    });
  });
  await using given = upstreamTo(server.port, await trusting());
  for (const target of ['/', '/silent']) {
    const got = await ask(given.upstream, { method: 'POST', target, body: withLength('hello', 5, true) });
    assert.deepEqual([got.informational, got.body], [[[100, []]], 'hello']);
  }
});

test('resets are failures, and a request refused unprocessed is sent again once', async () => {
  await using server = await http2Server();
  let refusals = 1;
  let seen = 0;
  onStream(server, (stream, headers) => {
    seen += 1;
    stream.on('error', () => {});
    if (headers[':path'] === '/refuse') {
      refusals -= 1;
      if (refusals >= 0) {
        stream.close(constants.NGHTTP2_REFUSED_STREAM);
        return;
      }
    }
    if (headers[':path'] === '/reset') {
      stream.close(constants.NGHTTP2_INTERNAL_ERROR);
      return;
    }
    stream.respond({ ':status': 200 });
    if (headers[':path'] === '/cut') {
      stream.write('part');
      // `close` would end the stream properly first.
      setTimeout(() => stream.destroy(new Error('broken')), 30);
    } else stream.end('ok');
  });
  await using given = upstreamTo(server.port, await trusting());
  assert.equal((await ask(given.upstream, { target: '/refuse', method: 'POST' })).body, 'ok');
  assert.equal(seen, 2);
  refusals = 5;
  const refused = await ask(given.upstream, { target: '/refuse', method: 'POST' });
  assert.deepEqual([refused.failure?.reason, refused.failure?.mayHaveBeenSent, seen], ['refused_stream', false, 4]);
  const reset = await ask(given.upstream, { target: '/reset' });
  assert.deepEqual(
    [reset.failure?.phase, reset.failure?.reason, reset.failure?.mayHaveBeenSent],
    ['send', 'reset', true],
  );
  const cut = await ask(given.upstream, { target: '/cut' });
  assert.deepEqual([cut.failure?.phase, cut.body], ['body', 'part']);
  assert.equal(server.accepted(), 1, 'none of this costs the session');
});

test('GOAWAY: requests in progress finish, later ones use a new session', async () => {
  await using server = await http2Server();
  const waiting: (() => void)[] = [];
  onStream(server, (stream, headers) => {
    stream.respond({ ':status': 200 });
    if (headers[':path'] === '/slow') waiting.push(() => stream.end('ok'));
    else stream.end('ok');
  });
  await using given = upstreamTo(server.port, await trusting());
  await ask(given.upstream);
  const slow = ask(given.upstream, { target: '/slow' });
  while (waiting.length === 0) await sleep(5);
  server.sessions[0]?.close();
  // The first of them may be sent before the GOAWAY has arrived.
  while (server.accepted() < 2) assert.equal((await ask(given.upstream)).body, 'ok');
  waiting[0]?.();
  assert.equal((await slow).body, 'ok');
});

test('a lost session fails its requests, and the next request opens another', async () => {
  await using server = await http2Server();
  let hanging = 0;
  onStream(server, (stream, headers) => {
    stream.on('error', () => {});
    if (headers[':path'] === '/') stream.respond({ ':status': 200 }, { endStream: true });
    else hanging += 1;
  });
  await using given = upstreamTo(server.port, await trusting());
  await ask(given.upstream);
  const lost = Promise.all([
    ask(given.upstream, { target: '/hang' }),
    ask(given.upstream, { target: '/hang', method: 'POST' }),
  ]);
  while (hanging < 2) await sleep(5);
  server.sessions[0]?.destroy();
  for (const answer of await lost)
    assert.deepEqual([answer.failure?.phase, answer.failure?.mayHaveBeenSent], ['send', true]);
  assert.equal((await ask(given.upstream)).head?.status, 200);
});

test("respects the upstream's stream limit: others get another session", async () => {
  await using server = await http2Server({ settings: { maxConcurrentStreams: 2 } });
  let most = 0;
  server.server.on('session', (session) => {
    let open = 0;
    session.on('stream', (stream: ServerHttp2Stream) => {
      open += 1;
      most = Math.max(most, open);
      stream.respond({ ':status': 200 });
      setTimeout(() => {
        open -= 1;
        stream.end('ok');
      }, 50);
    });
  });
  await using given = upstreamTo(server.port, await trusting());
  await ask(given.upstream);
  const answers = await Promise.all(Array.from({ length: 6 }, () => ask(given.upstream)));
  for (const answer of answers) assert.equal(answer.body, 'ok');
  assert.ok(most <= 2, `${most} at a time`);
  assert.ok(server.accepted() > 1, 'the others waited');
});

test('timeouts, and ten thousand legitimate resets at an upstream that ends sessions after a thousand', async () => {
  await using server = await http2Server();
  let most = 0;
  const lost: string[] = [];
  server.server.on('session', (session) => {
    let resets = 0;
    session.on('goaway', () => {});
    session.on('error', (error: Error) => lost.push(error.message));
    session.on('stream', (stream) => {
      stream.on('close', () => {
        if (stream.rstCode !== constants.NGHTTP2_NO_ERROR) resets += 1;
        most = Math.max(most, resets);
      });
    });
  });
  onStream(server, (stream, headers) => {
    stream.on('error', () => {});
    if (headers[':path'] === '/silent') return;
    stream.respond({ ':status': 200 });
    stream.write('x');
    if (headers[':path'] === '/') stream.end();
  });
  await using given = upstreamTo(server.port, await trusting({ responseTimeoutMs: 300, idleTimeoutMs: 300 }));
  await ask(given.upstream);
  const silent = await ask(given.upstream, { target: '/silent' });
  assert.deepEqual([silent.failure?.phase, silent.failure?.reason], ['head', 'timeout']);
  const stopped = await ask(given.upstream, { target: '/stop' });
  assert.deepEqual([stopped.failure?.phase, stopped.failure?.reason], ['body', 'timeout']);
  assert.equal(server.accepted(), 1);
  for (let round = 0; round < 200; round += 1) {
    const answers = Array.from({ length: 50 }, () => new Answer());
    for (const answer of answers) void ask(given.upstream, { target: '/stop' }, answer);
    if (round % 2 === 0) await sleep(1);
    for (const answer of answers) answer.exchange?.abort();
    if (round % 20 === 0) assert.equal((await ask(given.upstream)).body, 'x');
  }
  assert.equal((await ask(given.upstream)).body, 'x');
  assert.deepEqual(lost, []);
  assert.ok(most <= 150, `${most} resets on one session`);
  assert.equal(given.upstream.stats().active, 0);
});

test('a slow reader blocks its own stream, not its neighbors', async () => {
  const MB = 1 << 20;
  await using server = await http2Server();
  const piece = Buffer.alloc(64 * 1024);
  let sent = 0;
  onStream(server, (stream, headers) => {
    stream.respond({ ':status': 200 });
    if (headers[':path'] !== '/large') {
      stream.end('ok');
      return;
    }
    const source = new PassThrough();
    const push = (): void => {
      while (sent < 20 * MB) {
        sent += piece.length;
        if (!source.write(piece)) return;
      }
      source.end();
    };
    source.on('drain', push).pipe(stream);
    push();
  });
  await using given = upstreamTo(server.port, await trusting());
  await ask(given.upstream);
  const answer = new Answer();
  let isHeld = true;
  answer.takes = () => !isHeld;
  const large = ask(given.upstream, { target: '/large' }, answer);
  await sleep(300);
  assert.ok(sent < 4 * MB, `${sent} bytes sent to a reader that reads nothing`);
  assert.equal((await ask(given.upstream)).body, 'ok');
  isHeld = false;
  answer.exchange?.resume();
  assert.equal((await large).bytes, 20 * MB);
  assert.equal(server.accepted(), 1);
});

test('closes an unused session after a while', async () => {
  await using server = await http2Server();
  onStream(server, (stream) => stream.respond({ ':status': 204 }, { endStream: true }));
  await using given = upstreamTo(server.port, await trusting({ keepAliveMs: 300 }));
  await ask(given.upstream);
  assert.equal(given.upstream.stats().idle, 1);
  while (given.upstream.stats().idle > 0) await sleep(5);
});

test('a challenge that would authenticate the whole session retires it', async () => {
  await using server = await http2Server();
  onStream(server, (stream) =>
    stream.respond({ ':status': 401, 'www-authenticate': 'Negotiate' }, { endStream: true }),
  );
  await using given = upstreamTo(server.port, await trusting());
  for (let i = 1; i <= 2; i += 1) {
    assert.equal((await ask(given.upstream)).head?.status, 401);
    assert.equal(server.accepted(), i);
  }
});

test('drain: streams in progress and those waiting for the first session finish, new ones are rejected unsent', async () => {
  await using server = await http2Server();
  onStream(server, (stream) => {
    stream.respond({ ':status': 200 });
    setTimeout(() => stream.end('ok'), 100);
  });
  await using given = upstreamTo(server.port, await trusting());
  const waiting = ask(given.upstream);
  const drained = given.upstream.drain();
  const late = await ask(given.upstream);
  assert.deepEqual([late.failure?.reason, late.failure?.mayHaveBeenSent], ['draining', false]);
  assert.equal((await waiting).body, 'ok');
  await drained;
});
