import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../src/kit/clock.ts';
import { feedLogin } from '../support/feed-logins.ts';
import { claim, event, oneLane, settlement } from './conformance/lane-world.ts';
import { committed } from './conformance/store-under-test.ts';
import { emptyLocation, openAt, usePostgres } from './engines.ts';

usePostgres();

const HOUR_MS = 3_600_000;
const LONG_MS = 60_000;

test('a node whose clock is an hour ahead takes over no claim or lease of another', async (t) => {
  const location = await emptyLocation(t, 'postgres');
  const [one, other] = await Promise.all([
    openAt(location, { clock: systemClock }),
    openAt(location, { clock: systemClock }),
  ]);
  const ahead = () => Date.now() + HOUR_MS;
  await oneLane(one);
  await committed(one, { events: [event()] });
  await feedLogin(one, 'as_1');
  const lease = { kind: 'tunnel', id: 'tn_1', parent: null, credentialId: null, bootId: 'b', doc: {} } as const;
  await one.presence.put([{ ...lease, expiresAtMs: Date.now() + LONG_MS }]);

  const untilMs = Date.now() + LONG_MS;
  const options = { owner: 'one', nowMs: Date.now(), untilMs, maxLanes: 10, maxDeliveries: 10 };
  const [held] = (await one.deliveries.claim(options)).lanes;
  assert.ok(held !== undefined);
  assert.deepEqual(await claim(other, ahead(), 'other'), []);
  assert.equal(await one.logins.claimRefresh('as_1', Date.now(), Date.now() + LONG_MS), true);
  assert.equal(await other.logins.claimRefresh('as_1', ahead(), ahead() + LONG_MS), false);
  assert.equal((await other.presence.get('tunnel', 'tn_1', ahead()))?.id, 'tn_1');
  assert.equal((await other.presence.list('tunnel', { beforeId: null, limit: 1, nowMs: ahead() })).length, 1);
  await other.prune(ahead());
  assert.notEqual(await one.presence.get('tunnel', 'tn_1', Date.now()), null);

  // A waiting lane is due for both at the same instant.
  const waiting = settlement(held, { owner: 'one', nowMs: Date.now(), nextAttemptAtMs: Date.now() + LONG_MS });
  assert.deepEqual(await one.deliveries.settle(waiting), []);
  const { lanes, nextDueMs } = await other.deliveries.claim({
    ...options,
    owner: 'other',
    nowMs: ahead(),
    untilMs: ahead(),
  });
  assert.deepEqual(lanes, []);
  assert.ok(nextDueMs !== null && nextDueMs > ahead(), 'the returned time is on the clock of the caller');
});
