import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventWorld } from './support/event-world.ts';

const TYPE = 'ip_policy_created.v0';
const START_MS = Date.parse('2026-11-01T00:00:00Z');

/** A clock that stands still until it is moved. The deliverer looks every second regardless of the clock. */
function movableClock() {
  const clock = { ms: START_MS, nowMs: () => clock.ms };
  return clock;
}

test('a lane delivers in order, whatever the receiver does in between', async (t) => {
  const world = await EventWorld.open(t);
  const lane = await world.lane([TYPE]);
  let requests = 0;
  world.receiver.behave(lane.path, (_received, response, request) => {
    requests += 1;
    if (requests === 5) request.socket.resetAndDestroy();
    else response.writeHead(requests === 8 ? 503 : 204).end();
  });
  const ids = await world.policies(20);
  await world.settled(lane, { delivered: 20 });
  const seen = world.receiver.at(lane.path);
  const objects = seen.map((each) => each.event.object.id as string);
  assert.deepEqual([...new Set(objects)], ids);
  // Failed twice, sent twice again, under the same id.
  assert.equal(seen.length, 22);
  assert.equal(new Set(seen.map(({ id }) => id)).size, 20);
});

test('a hanging destination, and one that is down, delay no other', async (t) => {
  const world = await EventWorld.open(t, { POSTERN_EVENTS_TIMEOUT: '60' });
  const hanging = await world.lane([TYPE]);
  const down = await world.lane([TYPE], { url: 'http://127.0.0.1:1/' });
  const well = await world.lane([TYPE]);
  world.receiver.behave(hanging.path, () => {});
  await world.policies(1);
  await world.receiver.until(hanging.path, 1);
  await world.policies(30);
  await world.settled(well, { delivered: 31 });
  assert.equal((await world.ledgerOf(hanging)).pending, 31);
  assert.equal((await world.ledgerOf(down)).pending, 31);
  const head = (await world.deliveries(down, '&limit=100')).at(-1);
  assert.equal(head.attempts[0].status, null);
  assert.match(head.attempts[0].error, /ECONNREFUSED/);
  assert.notEqual(head.next_attempt_at, null);
});

test('an event that is always rejected is dead after five attempts in ten minutes, and the lane continues', async (t) => {
  const clock = movableClock();
  const world = await EventWorld.open(t, {}, { clock });
  const refused = await world.lane([TYPE]);
  world.receiver.behave(refused.path, (received, response) =>
    response.writeHead(received.event.object.description === 'bad' ? 400 : 204).end(),
  );
  await world.api('POST', '/ip_policies', { description: 'bad' });
  await world.policies(2);
  for (let tries = 1; tries <= 5; tries += 1) {
    await world.attempted(refused, tries);
    if (tries === 5) break;
    assert.equal((await world.ledgerOf(refused)).pending, 3, 'the others wait, for the lane keeps its order');
    clock.ms += 12 * 60_000;
  }
  await world.settled(refused, { dead: 1, delivered: 2 });
  const [, , dead] = await world.deliveries(refused);
  assert.equal(dead.state, 'dead');
  assert.equal(dead.attempts.length, 5);
  assert.deepEqual([dead.attempts[4].status, dead.attempts[4].error], [400, 'the receiver returned 400']);
  assert.ok(world.world.logLines.some((line) => line.includes('an event is dead')));
});

test("honors a receiver's Retry-After", async (t) => {
  const clock = movableClock();
  const world = await EventWorld.open(t, {}, { clock });
  const lane = await world.lane([TYPE]);
  world.receiver.behave(lane.path, (_received, response) => response.writeHead(429, { 'retry-after': '600' }).end());
  await world.policies(1);
  await world.receiver.until(lane.path, 1);
  await world.settled(lane, { failingSinceMs: START_MS });
  const [waiting] = await world.deliveries(lane);
  assert.equal(waiting.next_attempt_at, new Date(START_MS + 600_000).toISOString());
  world.receiver.behave(lane.path, 204);
  clock.ms += 600_000;
  await world.settled(lane, { delivered: 1 });
});

test('retries a long-waiting lane immediately after a restart', async (t) => {
  const clock = movableClock();
  const world = await EventWorld.open(t, {}, { clock });
  const lane = await world.lane([TYPE]);
  world.receiver.behave(lane.path, (_received, response) => response.writeHead(503, { 'retry-after': '86000' }).end());
  await world.policies(3);
  await world.receiver.until(lane.path, 1);
  await world.settled(lane, { failingSinceMs: START_MS });
  await world.world.close();
  world.receiver.behave(lane.path, 204);
  const again = await EventWorld.open(t, {}, { clock, dataDir: world.world.dataDir });
  await again.settled(lane, { delivered: 3 });
});

test('suspends a destination after days of failure, announces it, and keeps its events until it is resumed', async (t) => {
  const clock = movableClock();
  const world = await EventWorld.open(t, {}, { clock });
  const lane = await world.lane([TYPE]);
  world.receiver.behave(lane.path, 500);
  await world.policies(5);
  for (let tries = 1; tries <= 10; tries += 1) {
    await world.attempted(lane, tries);
    clock.ms += 8 * 3_600_000;
  }
  await world.settled(lane, { isHeld: true });
  const destination = await world.api('GET', `/event_destinations/${lane.destinationId}`);
  assert.equal(destination.status, 'suspended');
  assert.ok(world.world.logLines.some((line) => line.includes('an event destination is suspended')));
  const metrics = await world.world.api('GET', '/metrics');
  assert.match(metrics.text, /postern_event_destinations_suspended_total\{reason="failing"\} 1/);
  world.receiver.behave(lane.path, 204);
  await world.api('POST', `/event_destinations/${lane.destinationId}/resume`);
  // Two had used up their day before the third day was over; the others waited.
  await world.settled(lane, { dead: 2, delivered: 3 });
});
