import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { after, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Answer, answering, ask, assertNothingLeft, play, rawServer, upstreamTo } from './ask.ts';

after(assertNothingLeft);

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

/** Deadlines follow the test's clock, so that a busy machine misses none. */
function clock(t: TestContext): { readonly nowMs: number; pass(ms: number): void } {
  let nowMs = performance.now();
  t.mock.method(performance, 'now', () => nowMs);
  return {
    get nowMs() {
      return nowMs;
    },
    pass: (ms) => {
      nowMs += ms;
    },
  };
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await sleep(5);
}

test('timeouts: no response, an endlessly trickling head, a body that stops', async (t) => {
  const short = { responseTimeoutMs: 300, idleTimeoutMs: 300 };
  await using silent = await rawServer((socket) => socket.resume());
  await using one = upstreamTo(silent.port, { limits: short });
  const none = await ask(one.upstream);
  assert.deepEqual(
    [none.failure?.phase, none.failure?.reason, none.failure?.mayHaveBeenSent],
    ['head', 'timeout', true],
  );
  await using dripping = await rawServer((socket) => {
    socket.write('HTTP/1.1 200 OK\r\nX: ');
    const timer = setInterval(() => socket.write('x'), 20);
    socket.on('close', () => clearInterval(timer)).resume();
  });
  await using two = upstreamTo(dripping.port, { limits: short });
  assert.equal((await ask(two.upstream)).failure?.reason, 'timeout');
  await using stopping = await answering('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab');
  const time = clock(t);
  await using three = upstreamTo(stopping.port, { limits: short });
  const answer = new Answer();
  const stopped = ask(three.upstream, {}, answer);
  await until(() => answer.body === 'ab');
  while (answer.failure === null) {
    time.pass(100);
    await sleep(20);
  }
  const cut = await stopped;
  assert.deepEqual([cut.failure?.phase, cut.failure?.reason, cut.body], ['body', 'timeout', 'ab']);
});

test('a request that cannot be repeated gets no kept connection of the age at which this upstream closes them', async () => {
  let connections = 0;
  const closesAfterMs = 400;
  await using server = await rawServer((socket) => {
    connections += 1;
    let timer: NodeJS.Timeout | null = null;
    socket.on('data', () => {
      if (timer !== null) clearTimeout(timer);
      socket.write(OK);
      timer = setTimeout(() => socket.end(), closesAfterMs);
    });
  });
  await using client = upstreamTo(server.port);
  const post = async (): Promise<void> => assert.equal((await ask(client.upstream, { method: 'POST' })).failure, null);
  await post();
  await until(() => client.upstream.stats().idle === 0);
  await post();
  await post();
  assert.equal(connections, 2, 'a young connection is used');
  await sleep(closesAfterMs * 0.85);
  await post();
  assert.equal(connections, 3, 'one that may be closed at this moment is not');
  await sleep(closesAfterMs * 0.85);
  await ask(client.upstream, { method: 'GET' });
  assert.equal(connections, 3, 'a request that can be repeated uses it');
});

test('a slow body is not idle', async (t) => {
  await using server = await answering('HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n');
  const time = clock(t);
  await using given = upstreamTo(server.port, { limits: { responseTimeoutMs: 300, idleTimeoutMs: 350 } });
  const answer = new Answer();
  const answered = ask(given.upstream, {}, answer);
  await until(() => answer.head !== null);
  for (let drops = 1; drops <= 8; drops += 1) {
    time.pass(300);
    await until(() => given.ticker.nowMs === time.nowMs);
    for (const socket of server.sockets) socket.write('x');
    await until(() => answer.bytes === drops);
  }
  assert.equal((await answered).body, 'xxxxxxxx');
});

/** The example of RFC 6455 §1.3. */
const HANDSHAKE = ['sec-websocket-key', 'dGhlIHNhbXBsZSBub25jZQ=='];

test('101 hands over the socket with the bytes already read, and drain waits for it', async () => {
  await using server = await rawServer((socket) => {
    socket.once('data', (bytes) => {
      assert.match(bytes.toString(), /connection: upgrade\r\nupgrade: websocket\r\n/);
      socket.write(
        'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-A: b\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\nfirst ',
      );
      socket.on('data', (more) => socket.write(more));
    });
    socket.on('end', () => socket.end());
  });
  await using given = upstreamTo(server.port);
  const { head, switched } = await ask(given.upstream, { switchTo: 'websocket', headers: HANDSHAKE });
  assert.deepEqual([head?.status, head?.headers.slice(0, 2)], [101, ['x-a', 'b']]);
  assert.ok(switched);
  switched.write('second');
  let got = '';
  for await (const chunk of switched) {
    got += chunk;
    if (got === 'first second') break;
  }
  assert.equal(got, 'first second');
  assert.equal(given.upstream.stats().active, 1);
  switched.destroy();
});

test('a refused switch is an ordinary response', async () => {
  await using server = await answering('HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno');
  await using given = upstreamTo(server.port);
  const answer = await ask(given.upstream, { switchTo: 'websocket' });
  assert.deepEqual([answer.head?.status, answer.body], [403, 'no']);
  assert.equal((await ask(given.upstream)).body, 'no');
  assert.equal(server.accepted(), 1);
});

test('abort at every stage releases everything and calls nothing more', async () => {
  await using server = await rawServer((socket) => {
    const head = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';
    const chunks = Array.from({ length: 5 }, () => [20, '1\r\nx\r\n1\r\ny\r\n']).flat();
    socket.on('data', () => play(socket, [20, 'HTTP/1.1 103 X\r\n\r\n', 20, head, ...chunks, '0\r\n\r\n']));
  });
  for (const stage of ['at once', 'next turn', 'informational', 'head', 'data', 'end']) {
    await using given = upstreamTo(server.port);
    const answer = new Answer();
    answer.onCall = (call) => {
      if (call === stage) answer.exchange?.abort();
    };
    void ask(given.upstream, {}, answer);
    const isEarly = stage === 'at once' || stage === 'next turn';
    if (stage === 'next turn') await sleep(5);
    if (isEarly) answer.exchange?.abort();
    else await until(() => answer.calls.includes(stage));
    await sleep(150);
    assert.equal(answer.calls.at(-1), isEarly ? undefined : stage);
    assert.equal(given.upstream.stats().active, 0);
    answer.exchange?.abort();
    answer.exchange?.resume();
  }
});

test('drain: requests in progress finish, new ones are rejected unsent', async () => {
  const asked: Socket[] = [];
  await using server = await rawServer((socket) => socket.on('data', () => asked.push(socket)));
  await using given = upstreamTo(server.port);
  const under = ask(given.upstream);
  await until(() => asked.length === 1);
  let isDrained = false;
  const drained = given.upstream.drain().then(() => {
    isDrained = true;
  });
  const late = await ask(given.upstream);
  assert.deepEqual([late.failure?.reason, late.failure?.mayHaveBeenSent], ['draining', false]);
  assert.equal(isDrained, false);
  asked[0]?.write(OK);
  assert.equal((await under).body, 'ok');
  await drained;
});
