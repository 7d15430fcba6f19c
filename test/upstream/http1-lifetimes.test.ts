import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Answer, answering, ask, assertNothingLeft, play, rawServer, upstreamTo } from './ask.ts';

after(assertNothingLeft);

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

test('timeouts: no response, an endlessly trickling head, a body that stops', async () => {
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
  await using three = upstreamTo(stopping.port, { limits: short });
  const cut = await ask(three.upstream);
  assert.deepEqual([cut.failure?.phase, cut.failure?.reason, cut.body], ['body', 'timeout', 'ab']);
});

test('a slow body is not idle', async () => {
  await using server = await rawServer((socket) => {
    const drops = Array.from({ length: 8 }, () => [100, 'x']).flat();
    socket.on('data', () => play(socket, ['HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n', ...drops]));
  });
  await using given = upstreamTo(server.port, { limits: { responseTimeoutMs: 300, idleTimeoutMs: 350 } });
  assert.equal((await ask(given.upstream)).body, 'xxxxxxxx');
});

test('101 hands over the socket with the bytes already read, and drain waits for it', async () => {
  await using server = await rawServer((socket) => {
    socket.once('data', (bytes) => {
      assert.match(bytes.toString(), /connection: upgrade\r\nupgrade: websocket\r\n/);
      socket.write(
        'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-A: b\r\n\r\nfirst ',
      );
      socket.on('data', (more) => socket.write(more));
    });
    socket.on('end', () => socket.end());
  });
  await using given = upstreamTo(server.port);
  const { head, switched } = await ask(given.upstream, { switchTo: 'websocket' });
  assert.deepEqual([head?.status, head?.headers], [101, ['x-a', 'b']]);
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
    if (stage === 'next turn') await sleep(5);
    if (stage === 'at once' || stage === 'next turn') answer.exchange?.abort();
    await sleep(250);
    const last = answer.calls.at(-1);
    assert.equal(last, stage === 'at once' || stage === 'next turn' ? undefined : stage);
    assert.equal(given.upstream.stats().active, 0);
    answer.exchange?.abort();
    answer.exchange?.resume();
  }
});

test('drain: requests in progress finish, new ones are rejected unsent', async () => {
  await using server = await rawServer((socket) => {
    socket.on('data', () => setTimeout(() => socket.write(OK), 100));
  });
  await using given = upstreamTo(server.port);
  const under = ask(given.upstream);
  await sleep(30);
  let isDrained = false;
  const drained = given.upstream.drain().then(() => {
    isDrained = true;
  });
  const late = await ask(given.upstream);
  assert.deepEqual([late.failure?.reason, late.failure?.mayHaveBeenSent], ['draining', false]);
  assert.equal(isDrained, false);
  assert.equal((await under).body, 'ok');
  await drained;
});
