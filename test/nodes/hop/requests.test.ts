import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { constants, type ServerHttp2Stream } from 'node:http2';
import { Readable } from 'node:stream';
import { after, afterEach, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { HeaderList } from '../../../src/kit/http/header-values.ts';
import { resetStream } from '../../../src/kit/http2/stream-end.ts';
import { TunnelUpstream } from '../../../src/proxy/edge/tunnels/tunnel-upstream.ts';
import { DeadlineTicker } from '../../../src/proxy/upstream/deadline-ticker.ts';
import type { RequestBody } from '../../../src/proxy/upstream/upstream.ts';
import { eventually } from '../../tunnel/support/fault-world.ts';
import { Answer, ask, limits } from '../../upstream/ask.ts';
import { HopWorld, TUNNEL } from './hop-world.ts';

const MB = 1_048_576;
/** More than all windows and buffers on the way. */
const LARGE_BYTES = 80 * MB;

function chunked(source: Readable, trailers: HeaderList = []): RequestBody {
  return { framing: 'chunked', source, expectsContinue: false, isWhole: () => true, trailers: () => trailers };
}

/** Numbered, so that a lost, repeated or exchanged part changes the digest. */
function* numbered(bytes: number): Generator<Buffer> {
  for (let at = 0; at < bytes; at += 65_536) {
    const chunk = Buffer.alloc(Math.min(65_536, bytes - at), at % 251);
    if (chunk.length >= 8) chunk.writeDoubleBE(at);
    yield chunk;
  }
}

function digestOf(bytes: number): string {
  const hash = createHash('sha256');
  for (const chunk of numbered(bytes)) hash.update(chunk);
  return hash.digest('hex');
}

/** Waits until something has moved, and then stopped. */
async function stillness(what: string, bytes: () => number): Promise<void> {
  let before = 0;
  await eventually(what, async () => {
    const isStill = bytes() > 0 && bytes() === before;
    before = bytes();
    await sleep(100);
    return isStill;
  });
}

suite('a request on a channel', async () => {
  const world = await HopWorld.open({ after }, 1, 4);
  const [holder] = world.holders;
  assert.ok(holder);
  const { agent, node, tunnels, open } = holder;
  const tunnel = world.tunnel();
  const ticker = new DeadlineTicker();
  const upstream = new TunnelUpstream(tunnel, limits, ticker);

  afterEach(async () => {
    agent.handle = (stream, headers) => agent.answer(stream, headers);
    await eventually('nothing is left', () => {
      const link = world.linkTo(node);
      const isIdle = link?.active === 0 && open.streams === 0 && ticker.size === 0;
      return isIdle && tunnel.inFlight === 0 && agent.active === 0 && tunnels.get(TUNNEL)?.inFlight === 0;
    });
    assert.equal(tunnels.get(TUNNEL)?.use.hopsInFlight, 0);
  });

  function respondWith(respond: (stream: ServerHttp2Stream) => void): void {
    agent.handle = respond;
  }

  test('takes no stream of its own between the nodes', async () => {
    assert.notEqual(world.linkTo(node)?.channel, null);
    let during = 0;
    agent.handle = (stream, headers) => {
      during = open.streams;
      agent.answer(stream, headers);
    };
    assert.equal((await ask(upstream)).failure, null);
    assert.equal(during, 0);
  });

  test('arrives unchanged, with its trailers, and so do informational responses, head, body and trailers', async () => {
    const seen = Promise.withResolvers<unknown>();
    agent.handle = (stream, headers) => {
      stream.additionalHeaders({ ':status': 103, link: '</a.css>' });
      stream.once('trailers', (trailers) => {
        seen.resolve([headers['x-a'], headers['cookie'], headers[':path'], headers[':authority'], trailers['x-end']]);
        stream.respond({ ':status': 201, 'set-cookie': ['a=1', 'b=2'], 'x-latin': 'é' }, { waitForTrailers: true });
        stream.once('wantTrailers', () => stream.sendTrailers({ 'x-sum': 'yes' }));
        stream.end('the response');
      });
      stream.resume();
    };
    const headers = ['x-a', '1', 'x-a', '2', 'cookie', 'a=b', 'te', 'trailers'];
    const body = chunked(Readable.from([Buffer.from('a'), Buffer.from('b')]), ['x-end', 'now']);
    const answer = await ask(upstream, { method: 'POST', target: '/x?y=%20z', headers, body });
    assert.deepEqual(await seen.promise, ['1, 2', 'a=b', '/x?y=%20z', 'app.test', 'now']);
    assert.deepEqual(answer.informational, [[103, ['link', '</a.css>']]]);
    assert.deepEqual([answer.head?.status, answer.body, answer.trailers], [201, 'the response', ['x-sum', 'yes']]);
    const cookies = answer.head?.headers.filter((_, at, all) => all[at - 1] === 'set-cookie');
    assert.deepEqual(cookies, ['a=1', 'b=2']);
    assert.ok(answer.head?.headers.includes('é'));
  });

  for (const [name, status, method, headers] of [
    ['HEAD', 200, 'HEAD', { 'content-length': 5 }],
    ['204', 204, 'GET', {}],
    ['304', 304, 'GET', { 'content-length': 5 }],
    ['an empty body', 200, 'GET', { 'content-length': 0 }],
  ] as const) {
    test(`gets a response without a body: ${name}`, async () => {
      respondWith((stream) => stream.respond({ ':status': status, ...headers }, { endStream: true }));
      const answer = await ask(upstream, { method });
      assert.deepEqual([answer.failure, answer.head?.status, answer.bytes, answer.trailers], [null, status, 0, []]);
    });
  }

  test('receives a large response whole, and a client that stops reading stops the service', async () => {
    let sent = 0;
    respondWith((stream) => {
      stream.respond({ ':status': 200 });
      const source = Readable.from(numbered(LARGE_BYTES));
      source.on('data', (chunk: Buffer) => {
        sent += chunk.length;
      });
      source.pipe(stream);
    });
    const hash = createHash('sha256');
    const answer = new Answer();
    let isReading = false;
    answer.takes = (chunk) => {
      hash.update(chunk);
      return isReading;
    };
    const over = ask(upstream, {}, answer);
    await eventually('data arrives', () => answer.bytes > 0);
    await stillness('the service waits', () => sent);
    assert.ok(sent < LARGE_BYTES * 0.75, `${sent} bytes were sent to a client that read ${answer.bytes}`);
    assert.ok(answer.bytes < MB);
    // One chunk at a time first: the rest of what was held must stay in order.
    for (let times = 0; times < 20; times += 1) {
      answer.exchange?.resume();
      await sleep(1);
    }
    isReading = true;
    answer.exchange?.resume();
    await over;
    assert.deepEqual([answer.failure, answer.bytes, answer.trailers], [null, LARGE_BYTES, []]);
    assert.equal(hash.digest('hex'), digestOf(LARGE_BYTES));
  });

  test('sends a large body whole, and a service that stops reading stops the client', async () => {
    const hash = createHash('sha256');
    let received = 0;
    let resume = (): void => {};
    respondWith((stream) => {
      stream.on('data', (chunk: Buffer) => {
        received += chunk.length;
        hash.update(chunk);
      });
      stream.on('end', () => stream.respond({ ':status': 200 }, { endStream: true }));
      stream.pause();
      resume = () => stream.resume();
    });
    let read = 0;
    const source = Readable.from(numbered(LARGE_BYTES));
    const body: RequestBody = {
      ...{ framing: 'length', bytes: LARGE_BYTES, source, expectsContinue: false },
      onBytes: (count) => {
        read += count;
      },
    };
    const over = ask(upstream, { method: 'PUT', body });
    await stillness('the client waits', () => read);
    assert.ok(read < LARGE_BYTES * 0.75, `${read} bytes were read from the client`);
    resume();
    assert.equal((await over).failure, null);
    assert.equal(received, LARGE_BYTES);
    assert.equal(hash.digest('hex'), digestOf(LARGE_BYTES));
  });

  test('has its whole body delivered when the response is complete before it, and leaves nothing behind', async () => {
    let received = 0;
    let isEnded = false;
    let respond = (): void => {};
    respondWith((stream) => {
      stream.on('end', () => {
        isEnded = true;
      });
      stream.on('data', (chunk: Buffer) => {
        received += chunk.length;
      });
      stream.pause();
      respond = () => {
        stream.respond({ ':status': 200, 'content-length': 2 });
        stream.end('ok');
        setTimeout(() => stream.resume(), 100);
      };
    });
    // Only the last chunk is more than the other node allows, so it is read from the client, and waits.
    const sizes = [MB, ...Array.from({ length: 9 }, () => 4_000_000)];
    const bytes = sizes.reduce((sum, size) => sum + size, 0);
    const source = Readable.from(sizes.map((size) => Buffer.alloc(size)));
    let read = 0;
    const onBytes = (count: number): void => {
      read += count;
    };
    const body: RequestBody = { framing: 'length', bytes, source, expectsContinue: false, onBytes };
    const over = ask(upstream, { method: 'POST', body });
    await eventually('all of it is read', () => read === bytes);
    await sleep(200);
    respond();
    const answer = await over;
    assert.deepEqual([answer.failure, answer.body], [null, 'ok']);
    await eventually('all of it arrives', () => received === bytes && isEnded);
  });

  test('may have a body of one large chunk', async () => {
    const bytes = 20 * MB;
    let received = 0;
    respondWith((stream) => {
      stream.on('data', (chunk: Buffer) => {
        received += chunk.length;
      });
      stream.on('end', () => stream.respond({ ':status': 200 }, { endStream: true }));
    });
    const link = world.linkTo(node);
    const source = Readable.from([Buffer.alloc(bytes)]);
    const answer = await ask(upstream, {
      method: 'POST',
      body: { framing: 'length', bytes, source, expectsContinue: false },
    });
    assert.deepEqual([answer.failure, received], [null, bytes]);
    assert.equal(world.linkTo(node), link);
  });

  test('receives very many small chunks that waited for the client', async () => {
    const count = 100_000;
    respondWith((stream) => {
      stream.respond({ ':status': 200 });
      const chunk = Buffer.alloc(100, 'x');
      let sent = 0;
      const more = (): void => {
        while (sent < count) {
          sent += 1;
          if (!stream.write(chunk)) {
            stream.once('drain', more);
            return;
          }
        }
        stream.end();
      };
      more();
    });
    const answer = new Answer();
    let isReading = false;
    answer.takes = () => isReading;
    const over = ask(upstream, {}, answer);
    await eventually('data arrives', () => answer.bytes > 0);
    await sleep(500);
    isReading = true;
    answer.exchange?.resume();
    await over;
    assert.deepEqual([answer.failure, answer.bytes], [null, 100 * count]);
  });

  test('is not delayed by a transfer that nobody reads', async () => {
    agent.handle = (stream, headers) => {
      if (headers[':path'] !== '/large') {
        agent.answer(stream, headers);
        return;
      }
      stream.respond({ ':status': 200 });
      Readable.from(numbered(LARGE_BYTES)).pipe(stream);
    };
    const slow = new Answer();
    slow.takes = () => false;
    void ask(upstream, { target: '/large' }, slow);
    await eventually('data arrives', () => slow.bytes > 0);
    await sleep(100);
    for (let times = 0; times < 50; times += 1) assert.equal((await ask(upstream)).head?.status, 200);
    slow.exchange?.abort();
  });

  test('that gets an early response reads all of it, whether or not the service resets the rest', async () => {
    for (const isReset of [true, false]) {
      let isCut = false;
      respondWith((stream) => {
        stream.respond({ ':status': 413 });
        stream.end('too large');
        stream.on('close', () => {
          isCut = true;
        });
        if (isReset) stream.close(constants.NGHTTP2_NO_ERROR);
      });
      const source = new Readable({ read() {} });
      source.push(Buffer.alloc(1000));
      const answer = await ask(upstream, { method: 'POST', body: chunked(source) });
      assert.deepEqual([answer.failure, answer.head?.status, answer.body], [null, 413, 'too large']);
      await eventually('the service hears of it', () => isCut);
      source.destroy();
    }
  });

  test('whose response the client reads only after its upload is not stuck', async () => {
    let respond = (): void => {};
    respondWith((stream) => {
      stream.pause();
      respond = () => {
        stream.respond({ ':status': 413 });
        stream.end(Buffer.alloc(MB, 'x'));
        stream.close(constants.NGHTTP2_NO_ERROR);
      };
    });
    const bytes = LARGE_BYTES;
    let sent = 0;
    const answer = new Answer();
    answer.takes = () => sent === bytes;
    const body: RequestBody = {
      ...{ framing: 'length', bytes, source: Readable.from(numbered(bytes)), expectsContinue: false },
      onBytes: (count) => {
        sent += count;
        if (sent === bytes) setImmediate(() => answer.exchange?.resume());
      },
    };
    const over = ask(upstream, { method: 'POST', body }, answer);
    await stillness('the upload waits', () => sent);
    respond();
    await over;
    assert.equal(answer.failure, null);
    assert.equal(answer.bytes, MB);
  });

  test('whose response has arrived is not stuck when the link breaks during its upload', async () => {
    const bytes = 80 * MB;
    let sent = 0;
    respondWith((stream) => {
      stream.pause();
      stream.respond({ ':status': 200 });
      stream.end('the response');
    });
    const answer = new Answer();
    answer.takes = () => sent === bytes;
    const body: RequestBody = {
      ...{ framing: 'length', bytes, source: Readable.from(numbered(bytes)), expectsContinue: false },
      onBytes: (count) => {
        sent += count;
        if (sent === bytes) setImmediate(() => answer.exchange?.resume());
      },
    };
    const over = ask(upstream, { method: 'POST', body }, answer);
    await eventually('the response arrives', () => answer.bytes > 0);
    await stillness('the upload waits', () => sent);
    holder.hole.cut();
    await over;
    assert.deepEqual([answer.failure, answer.body], [null, 'the response']);
    await eventually('it is linked again', () => world.isLinkedTo(node));
  });

  test('that the service resets fails with its code, and never looks whole', async () => {
    let reset = (): void => {};
    for (const [code, reason] of [
      [constants.NGHTTP2_INTERNAL_ERROR, 'reset'],
      [constants.NGHTTP2_ENHANCE_YOUR_CALM, 'enhance_your_calm'],
      [constants.NGHTTP2_CANCEL, 'cancelled'],
    ] as const) {
      respondWith((stream) => {
        stream.respond({ ':status': 200 });
        stream.write('a part');
        reset = () => resetStream(stream, code);
      });
      const answer = new Answer();
      answer.onCall = (call) => {
        if (call === 'data') reset();
      };
      await ask(upstream, { method: 'POST' }, answer);
      assert.deepEqual([answer.failure?.phase, answer.trailers], ['body', null]);
      assert.equal(answer.failure?.reason, reason);
    }
  });

  test('that the client gives up at any moment leaves nothing behind', async () => {
    for (const at of ['', 'informational', 'head', 'data'] as const) {
      for (const takes of [true, false]) {
        let isClosed = false;
        let isOpen = false;
        respondWith((stream) => {
          isOpen = true;
          stream.on('close', () => {
            isClosed = true;
          });
          stream.additionalHeaders({ ':status': 103 });
          stream.respond({ ':status': 200 });
          Readable.from(numbered(LARGE_BYTES))
            .on('error', () => {})
            .pipe(stream);
        });
        const answer = new Answer();
        answer.takes = () => takes;
        answer.onCall = (call) => {
          if (call === at) answer.exchange?.abort();
        };
        void ask(upstream, { method: 'POST', body: chunked(new Readable({ read() {} })) }, answer);
        await eventually('the service has it', () => isOpen);
        if (at === '') answer.exchange?.abort();
        await eventually('the service hears of it', () => isClosed);
        assert.deepEqual([answer.failure, answer.trailers], [null, null]);
      }
    }
  });

  test('gets a failure for a response that does not have the announced length', async () => {
    for (const bytes of [2, 9]) {
      respondWith((stream) => {
        stream.respond({ ':status': 200, 'content-length': 5 });
        stream.end(Buffer.alloc(bytes, 'x'));
      });
      const answer = await ask(upstream);
      assert.notEqual(answer.failure, null);
      assert.equal(answer.trailers, null);
      assert.ok(answer.bytes <= 5);
    }
  });

  test('gets a failure for endless informational responses', async () => {
    respondWith((stream) => {
      for (let count = 0; count < 200; count += 1) stream.additionalHeaders({ ':status': 103 });
      stream.respond({ ':status': 200 }, { endStream: true });
    });
    const answer = await ask(upstream);
    assert.notEqual(answer.failure, null);
    assert.ok(answer.informational.length <= 100);
  });

  test('is one of many that all get their own response', async () => {
    agent.handle = (stream, headers) => {
      const bytes = Number(headers['x-bytes']);
      stream.respond({ ':status': 200, 'x-number': headers['x-number'] });
      setTimeout(() => stream.end(Buffer.alloc(bytes, String(headers['x-number']))), Math.random() * 20);
    };
    const all = Array.from({ length: 150 }, async (_, number) => {
      const bytes = (number * 7919) % 120_000;
      const headers = ['x-number', `n${number}.`, 'x-bytes', String(bytes)];
      const answer = await ask(upstream, { headers });
      assert.equal(answer.failure, null);
      assert.ok(answer.head?.headers.includes(`n${number}.`));
      assert.equal(answer.body, Buffer.alloc(bytes, `n${number}.`).toString());
    });
    await Promise.all(all);
  });
});
