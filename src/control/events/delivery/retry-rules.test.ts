import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { LaneHealth } from '../../../store/store.ts';
import type { SendOutcome } from '../destinations/destination-kind.ts';
import { type RetryPolicy, type Ruling, rule } from './retry-rules.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const policy = (random = 0.5): RetryPolicy => ({ retryWindowMs: DAY, suspendAfterMs: 3 * DAY, random: () => random });
const WELL: LaneHealth = { failures: 0, failingCount: 0, failingSinceMs: null };

const DELIVERED: SendOutcome = { verdict: 'delivered', status: 204, error: null };
const DOWN: SendOutcome = { verdict: 'wait', status: null, error: 'connection refused' };
const REFUSED: SendOutcome = { verdict: 'refused', status: 400, error: 'the receiver returned 400' };
const GONE: SendOutcome = { verdict: 'gone', status: 410, error: 'the receiver returned 410' };

/** Retries one event, each time exactly when it is due, until it is no longer pending. */
function tryOut(outcome: SendOutcome, health = WELL, random = 0.5): { waits: number[]; last: Ruling; tookMs: number } {
  const waits: number[] = [];
  const startMs = 1_000_000;
  let nowMs = startMs;
  let refusals = 0;
  let current = health;
  for (;;) {
    const last = rule({ outcome, firstTriedMs: startMs, refusals, health: current, nowMs }, policy(random));
    if (last.state !== 'pending' || last.suspension !== null) return { waits, last, tookMs: nowMs - startMs };
    waits.push(last.nextAttemptAtMs - nowMs);
    nowMs = last.nextAttemptAtMs;
    refusals = last.refusals;
    current = last.health;
  }
}

suite('retry rules', () => {
  test('a delivered event lets the lane continue and resets its failures', () => {
    const health = { failures: 7, failingCount: 9, failingSinceMs: 5 };
    const ruling = rule({ outcome: DELIVERED, firstTriedMs: 0, refusals: 2, health, nowMs: 10 * DAY }, policy());
    assert.deepEqual(ruling, { state: 'delivered', refusals: 2, health: WELL, nextAttemptAtMs: 0, suspension: null });
  });

  test('a destination that is down makes the lane wait 1, 2, 4 … s, at most an hour, for about a day', () => {
    const { waits, last, tookMs } = tryOut(DOWN);
    assert.deepEqual(
      waits.slice(0, 13).map((ms) => ms / SECOND),
      [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 3600],
    );
    assert.ok(waits.slice(13).every((ms) => ms === HOUR));
    assert.equal(last.state, 'dead');
    assert.ok(tookMs >= DAY && tookMs < DAY + 2 * HOUR, `${tookMs / HOUR} h`);
    // The next event waits too: the destination is still down.
    assert.ok(last.nextAttemptAtMs > 0);
  });

  test('waits vary by a fifth', () => {
    const first = (random: number) => tryOut(DOWN, WELL, random).waits[0];
    assert.deepEqual([first(0), first(0.5), first(1)], [800, 1000, 1200]);
  });

  test('honors a longer wait requested by the destination, up to a day', () => {
    const waitOf = (retryAfterMs: number) => tryOut({ ...DOWN, status: 429, retryAfterMs }).waits[0];
    assert.deepEqual([waitOf(100), waitOf(90 * SECOND), waitOf(90 * DAY)], [SECOND, 90 * SECOND, DAY]);
  });

  test('retries a rejected event five times in about ten minutes, then the lane continues', () => {
    const { waits, last, tookMs } = tryOut(REFUSED);
    assert.equal(waits.length, 4);
    assert.equal(tookMs, 10 * MINUTE);
    assert.deepEqual([last.state, last.refusals, last.nextAttemptAtMs], ['dead', 5, 0]);
    // The receiver responds: the next failure starts at one second again.
    assert.equal(last.health.failures, 0);
  });

  test('an outage between rejections counts for neither', () => {
    const nowMs = 5_000;
    const ruling = rule({ outcome: DOWN, firstTriedMs: 0, refusals: 3, health: WELL, nowMs }, policy());
    assert.deepEqual([ruling.state, ruling.refusals, ruling.nextAttemptAtMs], ['pending', 3, nowMs + SECOND]);
  });

  test('410 suspends at once, and the event stays', () => {
    const ruling = rule({ outcome: GONE, firstTriedMs: 0, refusals: 0, health: WELL, nowMs: 9 }, policy());
    assert.deepEqual([ruling.state, ruling.suspension], ['pending', 'gone']);
  });

  test('suspends after days of any failure, but not after a day of silence following one failure', () => {
    const failing = (failingCount: number, sinceMs: number, outcome: SendOutcome) =>
      rule(
        {
          outcome,
          firstTriedMs: 10 * DAY,
          refusals: 0,
          health: { failures: 3, failingCount, failingSinceMs: sinceMs },
          nowMs: 10 * DAY,
        },
        policy(),
      ).suspension;
    assert.equal(failing(50, 7 * DAY, DOWN), 'failing');
    assert.equal(failing(50, 7 * DAY, REFUSED), 'failing');
    assert.equal(failing(50, 7 * DAY + 1, DOWN), null);
    assert.equal(failing(5, 0, DOWN), null);
  });

  test('a resumed lane gives its head a new day', () => {
    const ruling = rule({ outcome: DOWN, firstTriedMs: 0, refusals: 0, health: WELL, nowMs: 5 * DAY }, policy());
    assert.equal(ruling.state, 'pending');
  });
});
