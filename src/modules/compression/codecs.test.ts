import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { suite, test } from 'node:test';
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import {
  brotliDecompressSync,
  createBrotliDecompress,
  createDeflate,
  createGunzip,
  createGzip,
  createInflate,
  createZstdDecompress,
  type Gzip,
  gunzipSync,
  inflateSync,
  type ZlibOptions,
  zstdDecompressSync,
} from 'node:zlib';
import fc from 'fast-check';
import { CODINGS, type Coding } from '../../kit/http/content-coding.ts';
import { waits } from '../../kit/net/waiting-bytes.ts';
import { type Codec, CompressingStream, type Compressor, codecs, hasCompressor, ReusedDeflate } from './codecs.ts';

const MAX_BYTES = 4_096;
const TEXT = Buffer.from('{"id":1,"name":"user 7919"}'.repeat(60));

test('compresses many bodies with one state', () => {
  let created = 0;
  const create = (options: ZlibOptions): Gzip => {
    created += 1;
    return createGzip(options);
  };
  const reused = new ReusedDeflate(create, { level: 4 }, MAX_BYTES);
  for (let times = 0; times < 20; times += 1) assert.deepEqual(gunzipSync(reused.whole(TEXT)), TEXT);
  assert.equal(created, 1);
});

for (const [create, read] of [
  [createGzip, gunzipSync],
  [createDeflate, inflateSync],
] as const) {
  test(`what ${create.name} compresses does not depend on the bodies before`, () => {
    const reused = new ReusedDeflate(create, { level: 4 }, MAX_BYTES);
    const text = fc.string({ maxLength: 3 * MAX_BYTES }).map((value) => Buffer.from(value));
    const noise = fc.nat({ max: 3 * MAX_BYTES }).map((bytes) => randomBytes(bytes));
    fc.assert(
      fc.property(fc.array(fc.oneof(text, noise), { maxLength: 4 }), (bodies) => {
        const results = bodies.map((body) => reused.whole(body));
        // Read after the last one: no result shares memory with another.
        for (const [at, body] of bodies.entries()) {
          assert.deepEqual(read(results[at] as Buffer), body);
          assert.deepEqual(results[at], new ReusedDeflate(create, { level: 4 }, MAX_BYTES).whole(body));
        }
      }),
      { numRuns: 50 },
    );
  });
}

test('sets up another state after one has failed', () => {
  const reused = new ReusedDeflate(createGzip, { level: 4 }, MAX_BYTES);
  reused.whole(TEXT);
  assert.throws(() => reused.whole('no buffer' as unknown as Buffer));
  assert.deepEqual(gunzipSync(reused.whole(TEXT)), TEXT);
});

// Own process: measures memory.

const CLIENT = '192.0.2.1';

const decode: Readonly<Record<Coding, (body: Buffer) => Buffer>> = {
  zstd: zstdDecompressSync,
  br: brotliDecompressSync,
  gzip: gunzipSync,
  deflate: inflateSync,
};
const decoder = { zstd: createZstdDecompress, br: createBrotliDecompress, gzip: createGunzip, deflate: createInflate };

interface Kind {
  readonly coding: Coding;
  readonly isEventStream?: boolean;
  readonly bodyBytes?: number | null;
}

function open({ coding, isEventStream = false, bodyBytes = null }: Kind): CompressingStream {
  return new CompressingStream({ codec: codecs[coding], isEventStream, bodyBytes, clientAddress: CLIENT });
}

/** Like the edge: writes until it has to wait, continues at 'drain'. */
async function compressed(stream: CompressingStream, chunks: readonly Buffer[]): Promise<Buffer> {
  const parts: Buffer[] = [];
  stream.on('data', (part: Buffer) => parts.push(part));
  for (const chunk of chunks) if (!stream.write(chunk)) await once(stream, 'drain');
  stream.end();
  await once(stream, 'end');
  return Buffer.concat(parts);
}

function jsonLines(bytes: number): Buffer {
  let text = '';
  for (let at = 0; text.length < bytes; at += 1) text += `{"at":${at},"name":"user ${(at * 7919) % 1009}"}\n`;
  return Buffer.from(text.slice(0, bytes));
}

interface Reader {
  readonly text: () => string;
  readonly until: (wanted: string) => Promise<void>;
}

/** Decodes the output as it arrives, like a client; `until` resolves when that much text has arrived. */
function reader(stream: CompressingStream, coding: Coding): Reader {
  let text = '';
  const decoding = decoder[coding]();
  decoding.on('data', (part: Buffer) => {
    text += part.toString();
  });
  stream.pipe(decoding);
  const until = async (wanted: string): Promise<void> => {
    const deadline = performance.now() + 5000;
    while (text !== wanted) {
      assert(performance.now() < deadline, `only ${JSON.stringify(text)} came`);
      await sleep(1);
    }
  };
  return { text: () => text, until };
}

for (const coding of CODINGS) {
  suite(`a body in ${coding}`, () => {
    const chunk = fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      fc.integer({ min: 0, max: 40_000 }).map((bytes) => new Uint8Array(jsonLines(bytes))),
    );

    test('decodes to the original for any content and any split', async () => {
      const property = fc.asyncProperty(
        fc.array(chunk, { maxLength: 8 }),
        fc.boolean(),
        fc.boolean(),
        async (parts, isEventStream, isLengthKnown) => {
          const chunks = parts.map((part) => Buffer.from(part));
          const body = Buffer.concat(chunks);
          const stream = open({ coding, isEventStream, bodyBytes: isLengthKnown ? body.length : null });
          assert.deepEqual(decode[coding](await compressed(stream, chunks)), body);
        },
      );
      await fc.assert(property, { numRuns: 60 });
    });

    test('decodes to the original with pauses', async () => {
      const chunks = [0, 10, 20_000, 3, 70_000].map(jsonLines);
      const stream = open({ coding });
      const parts: Buffer[] = [];
      stream.on('data', (part: Buffer) => parts.push(part));
      for (const part of chunks) {
        stream.write(part);
        await sleep(12);
      }
      stream.end();
      await once(stream, 'end');
      assert.deepEqual(decode[coding](Buffer.concat(parts)), Buffer.concat(chunks));
    });

    test('is a valid empty body of the coding', async () => {
      assert.equal(decode[coding](await compressed(open({ coding }), [])).length, 0);
      assert.equal(decode[coding](await compressed(open({ coding, isEventStream: true }), [])).length, 0);
    });

    test('gets much smaller', async () => {
      const body = jsonLines(300_000);
      const coded = await compressed(open({ coding, bodyBytes: body.length }), [body]);
      assert(coded.length < body.length / 4, `${coded.length} bytes`);
    });

    test('emits every event immediately', async () => {
      const stream = open({ coding, isEventStream: true });
      const { until } = reader(stream, coding);
      let sent = '';
      for (let at = 0; at < 20; at += 1) {
        stream.write(Buffer.from(`data: ${at}\n\n`));
        sent += `data: ${at}\n\n`;
        await until(sent);
      }
      stream.destroy();
    });

    test('emits its data when the upstream pauses, first and later', async () => {
      const stream = open({ coding });
      const { until } = reader(stream, coding);
      let sent = '';
      for (const line of ['{"a":1}\n', '{"b":2}\n', jsonLines(20_000).toString(), '{"c":3}\n']) {
        stream.write(Buffer.from(line));
        sent += line;
        await until(sent);
      }
      stream.destroy();
    });

    test('does not hold back small pieces that arrive without a pause', async (t) => {
      // A busy machine pauses by itself: with mocked timers no pause is ever long enough.
      t.mock.timers.enable({ apis: ['setTimeout'] });
      const stream = open({ coding });
      const { text } = reader(stream, coding);
      const start = performance.now();
      while (text() === '' && performance.now() - start < 2000) {
        if (!stream.write(Buffer.from('tick\n'))) await once(stream, 'drain');
        await turn();
      }
      assert.match(text(), /^tick\n/);
      stream.destroy();
    });

    test('applies back-pressure for a client that does not read', async () => {
      const stream = open({ coding, bodyBytes: 1e9 });
      let taken = 0;
      // Nothing reads: 'drain' stops coming.
      for (let isWaiting = false; !isWaiting && taken < 100; taken += 1) {
        const hasRoom = stream.write(randomBytes(65_536));
        if (!hasRoom) isWaiting = (await Promise.race([once(stream, 'drain'), sleep(200, 'waits')])) === 'waits';
      }
      assert(taken < 20, `${taken} × 64 KiB were taken`);
      stream.on('data', () => {});
      await once(stream, 'drain');
      stream.end();
      await once(stream, 'end');
    });
  });
}

/** A codec whose compressors the test can observe. */
function watched(): { codec: Codec; made: Compressor[]; flushes: () => number } {
  const made: Compressor[] = [];
  let flushes = 0;
  const stream = (): Compressor => {
    const compressor = codecs.gzip.stream();
    const flush = compressor.flush.bind(compressor);
    compressor.flush = (kind) => {
      flushes += 1;
      flush(kind);
    };
    made.push(compressor);
    return compressor;
  };
  return { codec: { ...codecs.gzip, stream }, made, flushes: () => flushes };
}

test('rarely flushes a fast download', async () => {
  const body = jsonLines(4_000_000);
  const chunks = Array.from({ length: Math.ceil(body.length / 16_384) }, (_, at) =>
    body.subarray(at * 16_384, (at + 1) * 16_384),
  );
  const { codec, flushes } = watched();
  await compressed(
    new CompressingStream({ codec, isEventStream: false, bodyBytes: null, clientAddress: CLIENT }),
    chunks,
  );
  assert(flushes() < chunks.length / 3, `${flushes()} flushes in ${chunks.length} chunks`);
});

test('keeps its history across a flush', async () => {
  const stream = open({ coding: 'gzip', isEventStream: true });
  const event = Buffer.from(`data: ${Array.from({ length: 40 }, (_, at) => (at * 7919) % 1009).join(' ')}\n\n`);
  const coded = await compressed(
    stream,
    Array.from({ length: 50 }, () => event),
  );
  assert(coded.length < event.length * 6, `50 equal events of ${event.length} bytes took ${coded.length}`);
});

suite('a client that disconnects', () => {
  test('leaves nothing behind, a thousand times in every state', async () => {
    const abandon = async (count: number): Promise<void> => {
      for (let at = 0; at < count; at += 1) {
        const coding = CODINGS[at % CODINGS.length] as Coding;
        const stream = open({ coding, isEventStream: at % 3 === 0, bodyBytes: at % 3 === 1 ? 1e6 : null });
        stream.on('data', () => {});
        stream.write(jsonLines(at % 2 === 0 ? 5000 : 30_000));
        // During a write on the thread pool, after it, while gathering, while waiting for a pause to end.
        if (at % 4 === 1) await turn();
        if (at % 5 === 2) await sleep(1);
        if (at % 50 === 3) await sleep(8);
        stream.destroy();
      }
      await sleep(50);
    };
    const resources = (): readonly string[] =>
      process.getActiveResourcesInfo().filter((kind) => !/Pipe|TTY|Wrap/.test(kind) || /Zlib|Brotli|Zstd/i.test(kind));
    await abandon(500);
    const before = { resources: resources(), rss: process.memoryUsage.rss() };
    await abandon(1000);
    assert.deepEqual(resources(), before.resources);
    const grownMb = (process.memoryUsage.rss() - before.rss) / 1e6;
    // If kept, they would be 400 MB or more.
    assert(grownMb < 120, `${grownMb} MB more`);
  });

  test('releases compressor and timer immediately', async () => {
    const { codec, made } = watched();
    const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
    const before = timers();
    for (let at = 0; at < 200; at += 1) {
      const stream = new CompressingStream({ codec, isEventStream: false, bodyBytes: null, clientAddress: CLIENT });
      stream.write(jsonLines(at % 2 === 0 ? 100 : 50_000));
      for (let turns = at % 5; turns > 0; turns -= 1) await turn();
      stream.destroy();
      await once(stream, 'close');
    }
    // Writes in progress on the thread pool complete.
    const deadline = performance.now() + 5000;
    while (made.some((compressor) => !compressor.closed) && performance.now() < deadline) await turn();
    for (let turns = 0; turns < 20; turns += 1) await turn();
    assert(made.length >= 100);
    assert.equal(made.filter((compressor) => !compressor.closed).length, 0);
    assert.equal(timers(), before);
  });

  test('does not start a compressor after a pause when it is destroyed', async () => {
    const { codec, made } = watched();
    const stream = new CompressingStream({ codec, isEventStream: false, bodyBytes: null, clientAddress: CLIENT });
    stream.write(jsonLines(100));
    stream.destroy();
    await sleep(30);
    assert.equal(made.length, 0);
  });

  test('is not an error, and neither are later writes', async () => {
    const stream = open({ coding: 'gzip', bodyBytes: 1e6 });
    let hasFailed = false;
    stream.on('error', () => {
      hasFailed = true;
    });
    stream.write(jsonLines(200_000));
    stream.write(jsonLines(200_000));
    stream.destroy();
    await once(stream, 'close');
    await sleep(20);
    assert.equal(hasFailed, false);
  });
});

suite('the memory of compressors', () => {
  const OTHER = '192.0.2.2';

  function openAll(count: number, clientAddress: string): readonly CompressingStream[] {
    const kind = { codec: codecs.gzip, isEventStream: false, bodyBytes: null };
    return Array.from({ length: count }, () => new CompressingStream({ ...kind, clientAddress }));
  }

  async function closeAll(streams: readonly CompressingStream[]): Promise<void> {
    for (const stream of streams) stream.destroy();
    await turn();
  }

  test('is left to others by an address that holds as much as is free, and returned by a stream that ends', async () => {
    const most = openAll(255, CLIENT);
    assert.ok(hasCompressor(CLIENT));
    const last = openAll(1, CLIENT);
    assert.deepEqual([hasCompressor(CLIENT), hasCompressor(OTHER)], [false, true]);
    await closeAll(last);
    assert.ok(hasCompressor(CLIENT));
    await closeAll(most);
  });

  test('is returned by a response that is complete', async () => {
    const streams = openAll(256, CLIENT);
    assert.ok(!hasCompressor(CLIENT));
    await Promise.all(streams.map((stream) => compressed(stream, [jsonLines(100)])));
    await turn();
    assert.ok(hasCompressor(CLIENT));
  });

  test('is given to nobody while readers hold all that may wait', () => {
    waits(96 * 1024 * 1024);
    assert.ok(!hasCompressor(OTHER));
    waits(-96 * 1024 * 1024);
    assert.ok(hasCompressor(OTHER));
  });
});
