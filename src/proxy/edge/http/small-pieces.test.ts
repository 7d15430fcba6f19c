import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { BodyPieces, SmallPieces } from './small-pieces.ts';

class Connection {
  isPaused = false;
  isRefused = false;
  pauseReading(): void {
    this.isPaused = true;
  }
  resumeReading(): void {
    this.isPaused = false;
  }
  refusePieces(): void {
    this.isRefused = true;
  }
}

function countedOf(sizes: readonly number[], times: number): number {
  const pieces = new BodyPieces();
  let counted = 0;
  for (let at = 0; at < times; at += 1) for (const size of sizes) counted += Number(pieces.isCounted(size));
  return counted;
}

suite('small pieces', () => {
  test('count after the first eight of a body, unless much larger ones come with them', () => {
    assert.equal(countedOf([1], 8), 0);
    assert.equal(countedOf([1], 100), 92);
    assert.equal(countedOf([1023], 100), 92);
    assert.equal(countedOf([1024], 100), 0);
    // A DATA frame of 16 KiB and its header, in TLS records of 16 KiB.
    assert.equal(countedOf([16_375, 9], 10_000), 0);
    assert.ok(countedOf([1024, ...Array.from({ length: 50 }, () => 1)], 100) > 4_900);
  });

  test('pause a connection beyond 5,000 at once, until its address has made up for them', async () => {
    let nowMs = 0;
    const pieces = new SmallPieces(() => nowMs);
    const [first, second, other] = [new Connection(), new Connection(), new Connection()];
    for (let at = 0; at < 5_000; at += 1) pieces.add('192.0.2.1', first);
    assert.equal(first.isPaused, false);
    pieces.add('192.0.2.1', first, 600);
    assert.equal(first.isPaused, true);
    pieces.add('192.0.2.1', second);
    assert.equal(second.isPaused, true, 'all connections of an address share');
    pieces.add('192.0.2.2', other, 4_000);
    assert.equal(other.isPaused, false);
    nowMs = 100;
    await sleep(150);
    assert.deepEqual([first.isPaused, second.isPaused], [true, true]);
    nowMs = 200;
    while (first.isPaused || second.isPaused) await sleep(5);
  });

  test('of a paused connection that has closed do not keep others waiting', async () => {
    const pieces = new SmallPieces();
    const [first, second] = [new Connection(), new Connection()];
    pieces.add('192.0.2.1', first, 5_100);
    pieces.add('192.0.2.1', second);
    pieces.closed('192.0.2.1', first);
    while (second.isPaused) await sleep(5);
    assert.equal(first.isPaused, true);
  });

  test('end connections of an address that goes on although it is paused', () => {
    const pieces = new SmallPieces(() => 0);
    const connections = Array.from({ length: 7 }, () => new Connection());
    for (const connection of connections) pieces.add('192.0.2.1', connection, 6_500);
    const refused = connections.filter(({ isRefused }) => isRefused).length;
    assert.ok(refused >= 1 && refused <= 2, `${refused}`);
  });
});
