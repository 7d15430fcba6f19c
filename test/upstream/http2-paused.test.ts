import assert from 'node:assert/strict';
import { constants, type ServerHttp2Stream } from 'node:http2';
import { Readable } from 'node:stream';
import { after, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { resetStream } from '../../src/kit/http2/stream-end.ts';
import type { RequestBody, Upstream } from '../../src/proxy/upstream/upstream.ts';
import { Answer, ask, assertNothingLeft, upstreamTo } from './ask.ts';
import { backendCertificate, http2Server } from './tls-servers.ts';

after(assertNothingLeft);

const BODY = Buffer.alloc(200_000, 'x');

/** A reader that stops after its first chunk, until `goOn`. */
interface Slow {
  readonly answer: Answer;
  readonly goOn: () => void;
}

function slow(): Slow {
  const answer = new Answer();
  let isHeld = true;
  answer.takes = () => !isHeld;
  const goOn = (): void => {
    isHeld = false;
    answer.exchange?.resume();
  };
  return { answer, goOn };
}

async function askSlowly(respond: (stream: ServerHttp2Stream) => void, check: (reader: Slow) => Promise<void>) {
  await using server = await http2Server();
  const closed = Promise.withResolvers<void>();
  server.server.on('stream', (stream) => {
    stream.on('error', () => {});
    stream.once('close', () => closed.resolve());
    respond(stream as ServerHttp2Stream);
  });
  const { certificatePem } = await backendCertificate();
  await using given = upstreamTo(server.port, { tls: { servername: 'backend.test', ca: certificatePem } });
  const reader = slow();
  const over = ask(given.upstream, {}, reader.answer);
  await closed.promise;
  await sleep(50);
  await check(reader);
  await over;
  assert.equal(given.upstream.stats().active, 0);
}

test('a response that ends while its reader pauses arrives whole, with its trailers', async () => {
  const respond = (stream: ServerHttp2Stream): void => {
    stream.respond({ ':status': 200 }, { waitForTrailers: true });
    stream.once('wantTrailers', () => stream.sendTrailers({ 'x-sum': '7' }));
    stream.end(BODY);
  };
  await askSlowly(respond, async ({ answer, goOn }) => {
    assert.deepEqual([answer.trailers, answer.failure], [null, null]);
    assert.ok(answer.bytes < BODY.length, 'data came after it said stop');
    goOn();
    await answer.over;
    assert.deepEqual([answer.bytes, answer.failure, answer.trailers], [BODY.length, null, ['x-sum', '7']]);
  });
});

test('a response with a length that ends while its reader pauses arrives whole', async () => {
  const respond = (stream: ServerHttp2Stream): void => {
    stream.respond({ ':status': 200, 'content-length': BODY.length });
    stream.end(BODY);
  };
  await askSlowly(respond, async ({ answer, goOn }) => {
    assert.deepEqual([answer.trailers, answer.failure], [null, null]);
    goOn();
    await answer.over;
    assert.deepEqual([answer.bytes, answer.failure, answer.trailers], [BODY.length, null, []]);
  });
});

test('a reader that pauses gets what arrived before a reset without an error, and then the failure', async () => {
  const respond = (stream: ServerHttp2Stream): void => {
    stream.respond({ ':status': 200 });
    stream.write(BODY, () => resetStream(stream, 0));
  };
  await askSlowly(respond, async ({ answer, goOn }) => {
    assert.deepEqual([answer.trailers, answer.failure], [null, null]);
    goOn();
    await answer.over;
    assert.equal(answer.bytes, BODY.length);
    assert.equal(answer.failure?.phase, 'body');
  });
});

test('an upload whose upstream reads no more goes on, for a client that reads the response only after it', async () => {
  await using server = await http2Server();
  let respond = (): void => {};
  server.server.on('stream', (stream) => {
    stream.on('error', () => {});
    stream.pause();
    respond = () => {
      (stream as ServerHttp2Stream).respond({ ':status': 413 });
      stream.end(BODY);
      stream.close(constants.NGHTTP2_NO_ERROR);
    };
  });
  const { certificatePem } = await backendCertificate();
  await using given = upstreamTo(server.port, { tls: { servername: 'backend.test', ca: certificatePem } });
  const pieces = Array.from({ length: 40 }, () => BODY);
  const bytes = pieces.length * BODY.length;
  let sent = 0;
  const { answer, goOn } = slow();
  const body: RequestBody = {
    ...{ framing: 'length', bytes, source: Readable.from(pieces), expectsContinue: false },
    onBytes: (count) => {
      sent += count;
      if (sent === bytes) setImmediate(goOn);
    },
  };
  const over = ask(given.upstream, { method: 'POST', body }, answer);
  for (let before = -1; sent === 0 || sent !== before; await sleep(100)) before = sent;
  assert.ok(sent < bytes, 'the upload waits');
  respond();
  await over;
  assert.deepEqual([answer.failure, answer.head?.status, answer.bytes], [null, 413, BODY.length]);
});

test('a reader that pauses gets a reset with an error at once', async () => {
  const respond = (stream: ServerHttp2Stream): void => {
    stream.respond({ ':status': 200 });
    stream.write(BODY, () => resetStream(stream, 2));
  };
  await askSlowly(respond, async ({ answer }) => {
    await answer.over;
    assert.equal(answer.failure?.phase, 'body');
    assert.ok(answer.bytes < BODY.length);
  });
});

function answerOk(stream: ServerHttp2Stream): void {
  stream.respond({ ':status': 200 });
  stream.end('ok');
}

suite('a session that holds responses for readers who have stopped', () => {
  /**
   * Requests for `/large` get a body of 4 MB, others what `respond` says. The readers of `count` large ones have
   * stopped.
   */
  async function withHeld(
    count: number,
    respond: (stream: ServerHttp2Stream, isFirstSession: boolean) => void,
    check: (upstream: Upstream, accepted: () => number) => Promise<void>,
  ): Promise<void> {
    await using server = await http2Server({ maxSessionMemory: 100 });
    server.server.on('stream', (incoming, headers) => {
      const stream = incoming as ServerHttp2Stream;
      stream.on('error', () => {});
      if (headers[':path'] !== '/large') {
        respond(stream, stream.session === server.sessions[0]);
        return;
      }
      stream.respond({ ':status': 200 });
      stream.end(Buffer.alloc(4_000_000));
    });
    const { certificatePem } = await backendCertificate();
    await using given = upstreamTo(server.port, { tls: { servername: 'backend.test', ca: certificatePem } });
    const readers = Array.from({ length: count }, slow);
    const over = readers.map(({ answer }) => ask(given.upstream, { target: '/large' }, answer));
    while (readers.some(({ answer }) => (answer.exchange?.heldBytes ?? 0) < 300_000)) await sleep(10);
    await check(given.upstream, () => server.accepted());
    for (const { goOn } of readers) goOn();
    for (const { bytes } of await Promise.all(over)) assert.equal(bytes, 4_000_000);
  }

  test('gets no further requests when it holds much', async () => {
    await withHeld(2, answerOk, async (upstream, accepted) => {
      assert.equal((await ask(upstream)).body, 'ok');
      assert.equal(accepted(), 1);
    });
    await withHeld(8, answerOk, async (upstream, accepted) => {
      assert.equal((await ask(upstream)).body, 'ok');
      assert.equal(accepted(), 2);
    });
  });

  test('counts nothing for readers who have gone away, and gets further requests', { timeout: 20_000 }, async () => {
    await withHeld(0, answerOk, async (upstream, accepted) => {
      // One after the other: together they would get a second session for a reason.
      for (let n = 0; n < 10; n += 1) {
        const { answer } = slow();
        void ask(upstream, { target: '/large' }, answer);
        while ((answer.exchange?.heldBytes ?? 0) < 300_000) await sleep(10);
        answer.exchange?.abort();
      }
      assert.equal((await ask(upstream)).body, 'ok');
      assert.equal(accepted(), 1);
      assert.deepEqual(upstream.stats(), { idle: 1, active: 0 });
    });
  });

  test('and that its upstream gives no more is replaced, and safe requests are repeated', async () => {
    const respond = (stream: ServerHttp2Stream, isFirstSession: boolean): void => {
      if (isFirstSession) stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
      else {
        stream.respond({ ':status': 200 });
        stream.end('ok');
      }
    };
    await withHeld(1, respond, async (upstream) => {
      const unsafe = await ask(upstream, { method: 'POST' });
      assert.equal(unsafe.failure?.reason, 'enhance_your_calm');
      assert.equal((await ask(upstream, { method: 'POST' })).body, 'ok');
    });
    await withHeld(1, respond, async (upstream) => assert.equal((await ask(upstream)).body, 'ok'));
  });

  test('is kept when it holds nothing: then the upstream has too much to do', async () => {
    const respond = (stream: ServerHttp2Stream): void => stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    await withHeld(0, respond, async (upstream, accepted) => {
      for (let n = 0; n < 3; n += 1) assert.equal((await ask(upstream)).failure?.reason, 'enhance_your_calm');
      assert.equal(accepted(), 1);
    });
  });
});
