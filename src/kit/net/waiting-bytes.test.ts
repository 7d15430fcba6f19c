import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { after, afterEach, suite, test } from 'node:test';
import fc from 'fast-check';
import {
  aside,
  BYTES_PER_COLLECTION_OF_AGENTS,
  beginRoom,
  bufferPassed,
  collectPassedBuffers,
  copyOf,
  GatheredBytes,
  isCrowded,
  onCrowding,
  recount,
  renewRoom,
  roomForBytes,
  waitingBytes,
  waits,
} from './waiting-bytes.ts';

const MIB = 1024 * 1024;

afterEach(() => waits(-waitingBytes()));

suite('bytes that wait for slow readers', () => {
  test('leave less room for each output, and all of it when they are gone', () => {
    const output = new PassThrough();
    renewRoom(output);
    assert.equal(output.writableHighWaterMark, 48 * 1024);
    waits(32 * MIB);
    assert.ok(isCrowded());
    renewRoom(output);
    assert.equal(output.writableHighWaterMark, 12 * 1024);
    assert.equal(roomForBytes(), 64 * MIB);
    waits(-1);
    renewRoom(output);
    assert.equal(output.writableHighWaterMark, 48 * 1024);
  });

  test('of a long response are few until its reader has taken the first part', () => {
    const output = new PassThrough();
    renewRoom(output);
    beginRoom(output, 48 * 1024);
    assert.equal(output.writableHighWaterMark, 48 * 1024);
    for (const length of [48 * 1024 + 1, null]) {
      beginRoom(output, length);
      assert.equal(output.writableHighWaterMark, 12 * 1024);
      renewRoom(output);
      assert.equal(output.writableHighWaterMark, 48 * 1024);
    }
  });

  test('are reported for each 4 MiB more or less, while they are many', () => {
    let reports = 0;
    const forget = onCrowding(() => {
      reports += 1;
    });
    for (let n = 0; n < 31; n += 1) waits(MIB);
    assert.equal(reports, 0);
    for (let n = 0; n < 9; n += 1) waits(MIB);
    assert.equal(reports, 3);
    waits(-9 * MIB);
    assert.equal(reports, 4, 'windows can be wider again');
    waits(-5 * MIB);
    assert.equal(reports, 4);
    forget();
    waits(64 * MIB);
    assert.equal(reports, 4);
  });

  test('are counted as an output has them', () => {
    const output = new PassThrough({ highWaterMark: 1 });
    output.write('123');
    output.write('45');
    const before = waitingBytes();
    const counted = recount(output, 0);
    assert.equal(waitingBytes() - before, output.writableLength);
    output.resume();
    assert.equal(recount(output, counted), output.writableLength);
    assert.equal(waitingBytes() - before, output.writableLength);
  });

  test('are freed by a collection of the whole heap some seconds after most of them have left', (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    let collections = 0;
    collectPassedBuffers({
      young: assert.fail,
      old: () => {
        collections += 1;
      },
    });
    t.after(() => collectPassedBuffers(null));
    const pass = (bytes: number): void => {
      waits(bytes);
      waits(-bytes);
      t.mock.timers.tick(5000);
    };
    pass(31 * MIB);
    assert.equal(collections, 0, 'as many as these pass all the time');
    pass(40 * MIB);
    assert.equal(collections, 1);
  });

  test('keep nothing else alive that was read with them', () => {
    const read = Buffer.alloc(65_536, 'x').subarray(0, 16_000);
    const copy = copyOf(read);
    assert.ok(copy.equals(read));
    assert.equal(copy.buffer.byteLength, 16_000);
    waits(32 * MIB);
    const mapped = copyOf(read);
    assert.ok(mapped.equals(read));
    assert.equal(aside(mapped), mapped, 'one copy is enough');
  });

  test('are kept in memory of their own', () => {
    const read = Buffer.alloc(65_536, 'x');
    for (const length of [100, 16_384]) {
      const copy = aside(read.subarray(0, length));
      assert.ok(copy.equals(read.subarray(0, length)));
      assert.equal(copy.buffer.byteLength, length);
    }
  });
});

suite('bytes that arrive in pieces', () => {
  test('come out as they came in, at any time', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 3 }), { maxLength: 1000 }), fc.nat(1000), (pieces, looked) => {
        const gathered = new GatheredBytes();
        for (const [at, piece] of pieces.entries()) {
          gathered.add(Buffer.from(piece));
          if (at === looked) gathered.chunks();
        }
        const expected = Buffer.concat(pieces);
        assert.ok(gathered.whole().equals(expected));
        assert.equal(gathered.length, expected.length);
      }),
      { numRuns: 30 },
    );
  });

  test('are few objects, however small the pieces are', () => {
    const gathered = new GatheredBytes();
    for (let count = 0; count < 100_000; count += 1) gathered.add(Buffer.from([count]));
    assert.equal(gathered.length, 100_000);
    assert.ok(gathered.chunks().length < 400, `${gathered.chunks().length}`);
  });

  test('are not copied when they are large', () => {
    const gathered = new GatheredBytes();
    const piece = Buffer.alloc(100_000);
    gathered.add(piece);
    assert.equal(gathered.chunks()[0], piece);
  });
});

const CHUNK = 1024 * 1024;

after(() => collectPassedBuffers(null));

test('collects every 24 MB of passed buffers, and only once a collector is set', () => {
  for (let n = 0; n < 100; n += 1) bufferPassed(CHUNK);
  let collections = 0;
  const young = (): void => {
    collections += 1;
  };
  collectPassedBuffers({ young, old: assert.fail });
  for (let n = 0; n < 23; n += 1) bufferPassed(CHUNK);
  assert.equal(collections, 0, 'what passed before does not count');
  bufferPassed(CHUNK);
  assert.equal(collections, 1);
  for (let n = 0; n < 72; n += 1) bufferPassed(CHUNK);
  assert.equal(collections, 4);
});

test('collects more often in an agent', () => {
  let collections = 0;
  const young = (): void => {
    collections += 1;
  };
  collectPassedBuffers({ young, old: assert.fail }, BYTES_PER_COLLECTION_OF_AGENTS);
  for (let n = 0; n < 24; n += 1) bufferPassed(CHUNK);
  assert.equal(collections, 6);
});
