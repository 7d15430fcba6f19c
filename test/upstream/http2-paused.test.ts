import assert from 'node:assert/strict';
import type { ServerHttp2Stream } from 'node:http2';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { resetStream } from '../../src/lib/http2/reset.ts';
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
