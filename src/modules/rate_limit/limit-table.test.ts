import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { type FullGroup, LimitTable, type Rate } from './limit-table.ts';

const HOUR_MS = 3_600_000;
const isLong = process.env['POSTERN_TEST_LONG'] !== undefined;
const RUNS = isLong ? 10_000 : 300;
const FLOOD = isLong ? 10_000_000 : 1_000_000;

/** A table with a clock that the test sets. */
function open(keys = 1_024, startMs = 5_000_000) {
  const clock = { nowMs: startMs };
  const full: Record<FullGroup, number> = { forgotten: 0, shared: 0 };
  const memory = LimitTable.memory(keys);
  const tableOf = (thread: number): LimitTable =>
    new LimitTable(
      { memory, thread },
      (what) => {
        full[what] += 1;
      },
      () => clock.nowMs,
    );
  const table = tableOf(-1);
  const rate = (name: string, limit: number, windowMs: number, burst = limit): Rate => {
    const intervalMs = windowMs / limit;
    return { hashKey: table.hashKeyOf(name), intervalMs, spanMs: intervalMs * burst };
  };
  return { clock, full, memory, table, tableOf, rate };
}

/** Counts in whole numbers: `level` is what is left of the burst, in parts of a request. */
class PlainBucket {
  readonly #limit: number;
  readonly #windowMs: number;
  readonly #most: number;
  #level: number;
  #atMs = 0;

  constructor(limit: number, windowMs: number, burst: number) {
    this.#limit = limit;
    this.#windowMs = windowMs;
    this.#most = burst * windowMs;
    this.#level = this.#most;
  }

  hasRoom(atMs: number): boolean {
    this.#level = Math.min(this.#most, this.#level + (atMs - this.#atMs) * this.#limit);
    this.#atMs = atMs;
    return this.#level >= this.#windowMs;
  }

  take(): void {
    this.#level -= this.#windowMs;
  }
}

const limits = fc.record({
  limit: fc.integer({ min: 1, max: 20 }),
  windowMs: fc.integer({ min: 1, max: 90 }).map((seconds) => seconds * 1_000),
  burst: fc.integer({ min: 1, max: 12 }),
});
const visits = fc.array(
  fc.record({
    afterMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 3_000 }), fc.integer({ min: 0, max: 200_000 })),
    visitor: fc.integer({ min: 0, max: 3 }),
  }),
  // Without a size, most runs have a few visits, and nobody is refused.
  { maxLength: 150, size: 'max' },
);

suite('the table of limits', () => {
  test('decides as plain buckets do: all limits have room, and then each is used, or none is', () => {
    fc.assert(
      fc.property(fc.array(limits, { minLength: 1, maxLength: 5 }), visits, (all, sent) => {
        const { clock, table, rate } = open(1_024, 0);
        const rates = all.map(({ limit, windowMs, burst }, at) => rate(`limit ${at}`, limit, windowMs, burst));
        const plain = new Map<number, PlainBucket[]>();
        for (const { afterMs, visitor } of sent) {
          clock.nowMs += afterMs;
          const buckets =
            plain.get(visitor) ?? all.map(({ limit, windowMs, burst }) => new PlainBucket(limit, windowMs, burst));
          plain.set(visitor, buckets);
          const isExpected = buckets.map((bucket) => bucket.hasRoom(clock.nowMs)).every(Boolean);
          const keys = all.map(() => `visitor ${visitor}`);
          const looked = rates.every((each, at) => table.look(each, keys[at] as string).left > 0);
          const exceeded = table.spend(rates, keys);
          assert.deepEqual([exceeded === null, looked], [isExpected, isExpected]);
          if (exceeded === null) for (const bucket of buckets) bucket.take();
        }
      }),
      { numRuns: RUNS },
    );
  });

  test('says when the next request can pass, and is right about it', () => {
    const { clock, table, rate } = open();
    const rates = [rate('a', 3, 60_000)];
    for (let at = 0; at < 3; at += 1) assert.equal(table.spend(rates, ['x']), null);
    const { waitMs = 0 } = table.spend(rates, ['x']) ?? {};
    assert.equal(Math.round(waitMs), 20_000);
    clock.nowMs += waitMs - 1;
    assert.notEqual(table.spend(rates, ['x']), null);
    clock.nowMs += 1;
    assert.equal(table.spend(rates, ['x']), null);
    assert.notEqual(table.spend(rates, ['x']), null);
  });

  test('a refused request uses nothing, so somebody who keeps trying gets in when it is time', () => {
    const { clock, table, rate } = open();
    const rates = [rate('a', 10, 60_000), rate('b', 1, 60_000)];
    assert.equal(table.spend(rates, ['x', 'x']), null);
    for (let at = 0; at < 100; at += 1) assert.equal(table.spend(rates, ['x', 'x'])?.at, 1);
    assert.equal(table.look(rates[0] as Rate, 'x').left, 9);
    clock.nowMs += 60_000;
    assert.equal(table.spend(rates, ['x', 'x']), null);
  });

  test('a changed limit keeps what was used, and gives no more than its own burst back', () => {
    const { clock, table, rate } = open();
    const before = [rate('a', 10, 60_000)];
    for (let at = 0; at < 10; at += 1) assert.equal(table.spend(before, ['x']), null);
    assert.notEqual(table.spend([rate('a', 5, 60_000)], ['x']), null);
    assert.notEqual(table.spend([rate('a', 100, 60_000)], ['x']), null);
    clock.nowMs += 600;
    assert.equal(table.spend([rate('a', 100, 60_000)], ['x']), null);
    // A much shorter burst: nobody waits for longer than one interval.
    const { waitMs = 0 } = table.spend([rate('a', 60, 60_000, 2)], ['x']) ?? {};
    assert.ok(waitMs > 0 && waitMs <= 1_000, String(waitMs));
  });

  test('threads that count in one memory admit exactly as many as one', () => {
    const { tableOf, rate } = open();
    const tables = [0, 1, 2].map(tableOf);
    const rates = [rate('a', 100, HOUR_MS)];
    let passed = 0;
    for (let at = 0; at < 300; at += 1) if (tables[at % 3]?.spend(rates, ['x']) === null) passed += 1;
    assert.equal(passed, 100);
  });

  test('a thread that has ended in the middle of a change holds up nobody', () => {
    const { memory, tableOf, rate } = open();
    // As the thread 0 left it.
    Atomics.store(new Int32Array(memory, 0, 1), 0, 2);
    LimitTable.threadEnded(memory, 1);
    assert.equal(Atomics.load(new Int32Array(memory, 0, 1), 0), 2, 'the lock of another thread stays');
    LimitTable.threadEnded(memory, 0);
    assert.equal(tableOf(1).spend([rate('a', 1, HOUR_MS)], ['x']), null);
  });

  test('two processes hash differently, and so do two limits of one', () => {
    const [one, other] = [open(), open()];
    assert.notDeepEqual(one.table.hashKeyOf('a'), other.table.hashKeyOf('a'));
    assert.notDeepEqual(one.table.hashKeyOf('a'), one.table.hashKeyOf('b'));
  });
});

suite('a flood of keys', () => {
  test('stays within the memory of the table, and resets nobody who has used half of a limit', () => {
    const { clock, full, table, rate } = open(4_096);
    const rates = [rate('a', 10, HOUR_MS)];
    const offenders = Array.from({ length: 20 }, (_, at) => `offender ${at}`);
    for (const key of offenders) for (let at = 0; at < 10; at += 1) assert.equal(table.spend(rates, [key]), null);
    let passed = 0;
    for (let at = 0; at < FLOOD; at += 1) {
      if (table.spend(rates, [`flood ${at}`]) === null) passed += 1;
      if (at % 50_000 === 0) {
        clock.nowMs += 1;
        for (const key of offenders) assert.notEqual(table.spend(rates, [key]), null);
      }
    }
    assert.equal(passed, FLOOD, 'each of them is new');
    assert.ok(full.forgotten > FLOOD - 10_000, String(full.forgotten));
    for (const key of offenders) assert.notEqual(table.spend(rates, [key]), null);
  });

  test('that has used up its limits fills the table: more keys share what is left, and those of other limits do not', () => {
    const { clock, full, table, rate } = open(1_024);
    const [strict, other] = [rate('strict', 1, HOUR_MS), rate('other', 5, 10_000)];
    let passed = 0;
    for (let at = 0; at < 20_000; at += 1) if (table.spend([strict], [`flood ${at}`]) === null) passed += 1;
    // 128 groups of 8, and one more for each group that they share.
    assert.equal(passed, 1_024 + 128);
    assert.equal(full.shared, 128);
    assert.equal(full.forgotten, 0);
    for (let at = 0; at < 5; at += 1) assert.equal(table.spend([other], ['visitor']), null);
    assert.notEqual(table.spend([other], ['visitor']), null, 'it is limited, too');
    clock.nowMs += HOUR_MS;
    assert.equal(table.spend([strict], ['flood 1']), null);
    assert.equal(table.spend([strict], ['visitor']), null);
  });

  test('of several limits shares a bucket for each: alternating between them resets none', () => {
    const { table, rate } = open(1_024);
    const all = ['a', 'b', 'c', 'd'].map((name) => rate(name, 1, HOUR_MS));
    for (let at = 0; at < 20_000; at += 1) table.spend([all[0] as Rate], [`fills ${at}`]);
    let passed = 0;
    for (let at = 0; at < 20_000; at += 1)
      if (table.spend([all[at % all.length] as Rate], [`flood ${at}`]) === null) passed += 1;
    assert.equal(passed, 3 * 128, 'one in each group, for each of the other limits');
  });
});
