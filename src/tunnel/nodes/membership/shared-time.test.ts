import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { ReportedFinding } from '../../../kit/findings.ts';
import { SharedTime, watchClockSkew } from './shared-time.ts';

suite("the database's time on a node", () => {
  let monotonicMs = 0;
  const opened = (startMs = 1_000_000): SharedTime => {
    monotonicMs = 0;
    const time = new SharedTime(() => monotonicMs, startMs);
    time.read(1_000_000, 0);
    return time;
  };

  test('does not depend on the clock of this machine', () => {
    const time = opened(5_000_000);
    assert.equal(time.nowMs(), 1_000_000);
    monotonicMs = 700;
    assert.equal(time.nowMs(), 1_000_700);
  });

  test('does not jump when a heartbeat takes long', () => {
    const time = opened();
    monotonicMs = 1_000;
    // The heartbeat was sent at 50 and processed at 950.
    time.read(1_000_950, 50);
    assert.equal(time.nowMs(), 1_001_000);
    monotonicMs = 1_410;
    time.read(1_001_405, 1_400);
    assert.equal(time.nowMs(), 1_001_410);
  });

  test('becomes more exact with a faster answer', () => {
    monotonicMs = 0;
    const time = new SharedTime(() => monotonicMs, 0);
    monotonicMs = 900;
    time.read(1_000_890, 0);
    assert.equal(time.nowMs(), 1_001_790);
    monotonicMs = 1_002;
    time.read(1_001_001, 1_000);
    assert.equal(time.nowMs(), 1_001_003);
  });

  test('follows a database whose clock was set, forwards and backwards', () => {
    const time = opened();
    monotonicMs = 400;
    time.read(9_000_400, 399);
    assert.equal(time.nowMs(), 9_000_401);
    monotonicMs = 800;
    time.read(1_000_800, 799);
    assert.equal(time.nowMs(), 1_000_801);
  });

  test('follows a database whose clock is faster', () => {
    const time = opened();
    monotonicMs = 10_001;
    time.read(1_010_051, 10_000);
    assert.equal(time.nowMs(), 1_010_052);
  });

  test('is not moved by a peer', () => {
    const time = opened();
    for (const databaseMs of [0, 3_600_000, Number.MAX_SAFE_INTEGER]) {
      monotonicMs += 400;
      time.read(databaseMs, monotonicMs - 1, { isFromPeer: true });
      assert.equal(time.nowMs(), 1_000_000 + monotonicMs);
    }
  });
});

test("reports a clock that differs from the database's by more than five seconds, until it is set", (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  let nowMs = 1_000_000;
  let problem: string | null = null;
  const membership = {
    nowMs: () => 1_000_000,
    setProblem: (_key: string, found: ReportedFinding | null) => {
      problem = found?.message ?? null;
    },
  };
  const watch = watchClockSkew(membership, { nowMs: () => nowMs });
  for (const [skewMs, expected] of [
    [5_000, null],
    [61_000, "the clock of this node is 61 seconds ahead of the database's"],
    [-3_600_000, "the clock of this node is 3600 seconds behind the database's"],
    [-5_000, null],
  ] as const) {
    nowMs = 1_000_000 + skewMs;
    t.mock.timers.tick(10_000);
    assert.equal(problem, expected);
  }
  watch.stop();
});
