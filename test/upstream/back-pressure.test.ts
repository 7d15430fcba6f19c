// Process of memory measurements: files of other processes would distort them.
import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { after, test } from 'node:test';
import { Answer, ask, assertNothingLeft, rawServer, upstreamTo } from './ask.ts';

after(assertNothingLeft);

const MB = 1 << 20;
const TOTAL = 100 * MB;
const PIECE = Buffer.alloc(64 * 1024, 'x');

function rss(): number {
  return process.memoryUsage.rss();
}

/** Capacity of the system's socket buffers and ours together. */
const IN_FLIGHT = 16 * MB;

test('100 MB down to a slow reader: the upstream is blocked, memory stays constant', async () => {
  let sent = 0;
  await using server = await rawServer((socket) => {
    const push = (): void => {
      while (sent < TOTAL) {
        sent += PIECE.length;
        if (!socket.write(PIECE)) return;
      }
    };
    socket.on('drain', push);
    socket.once('data', () => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${TOTAL}\r\n\r\n`);
      push();
    });
  });
  await using given = upstreamTo(server.port);
  const answer = new Answer();
  let unread = 0;
  let pauses = 0;
  answer.takes = (chunk) => {
    unread += chunk.length;
    // The rest of the read in progress at the stop may still arrive.
    assert.ok(unread < MB + PIECE.length, 'more came after it said stop');
    if (unread < MB) return true;
    pauses += 1;
    // Stalled for long once, so that the data in flight can be seen to stand still.
    setTimeout(
      () => {
        unread = 0;
        answer.exchange?.resume();
      },
      pauses === 5 ? 500 : 1,
    );
    return false;
  };
  const before = rss();
  let peak = before;
  const meter = setInterval(() => {
    peak = Math.max(peak, rss());
    assert.ok(sent - answer.bytes < IN_FLIGHT, `${sent - answer.bytes} bytes in flight`);
  }, 20);
  await ask(given.upstream, {}, answer);
  clearInterval(meter);
  assert.equal(answer.bytes, TOTAL);
  assert.ok(pauses > 50);
  assert.ok(peak - before < 80 * MB, `${Math.round((peak - before) / MB)} MB more`);
  assert.equal(given.upstream.stats().idle, 1);
});

for (const framing of ['length', 'chunked'] as const) {
  test(`100 MB up to a slow upstream, ${framing}: the source is blocked, memory stays constant`, async () => {
    let received = 0;
    await using server = await rawServer((socket) => {
      socket.on('data', (bytes) => {
        received += bytes.length;
        if (Math.floor(received / MB) > Math.floor((received - bytes.length) / MB)) {
          socket.pause();
          setTimeout(() => socket.resume(), received < 6 * MB ? 50 : 1);
        }
        if (received >= TOTAL && bytes.includes('!')) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
      });
    });
    await using given = upstreamTo(server.port);
    let produced = 0;
    const source = new Readable({
      read() {
        produced += PIECE.length;
        this.push(produced === TOTAL ? Buffer.alloc(PIECE.length, '!') : PIECE);
        if (produced === TOTAL) this.push(null);
      },
    });
    const before = rss();
    let peak = before;
    const meter = setInterval(() => {
      peak = Math.max(peak, rss());
      assert.ok(produced - received < IN_FLIGHT, `${produced - received} bytes in flight`);
    }, 20);
    const body =
      framing === 'length'
        ? ({ framing, bytes: TOTAL, source, expectsContinue: false } as const)
        : ({ framing, source, expectsContinue: false, isWhole: () => true, trailers: () => [] } as const);
    const answer = await ask(given.upstream, { method: 'POST', body });
    clearInterval(meter);
    assert.equal(answer.head?.status, 200);
    assert.ok(peak - before < 80 * MB, `${Math.round((peak - before) / MB)} MB more`);
  });
}
