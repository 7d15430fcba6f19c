import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { EventWorld } from './support/event-world.ts';
import { verify } from './support/receiver.ts';

const TYPE = 'ip_policy_created.v0';

test('a paused destination gets nothing, and everything when it is resumed', async (t) => {
  const world = await EventWorld.open(t);
  const lane = await world.lane([TYPE]);
  await world.api('POST', `/event_destinations/${lane.destinationId}/pause`);
  const ids = await world.policies(3);
  await world.settled(lane, { pending: 3, isHeld: true });
  const [waiting] = await world.deliveries(lane);
  assert.deepEqual([waiting.state, waiting.next_attempt_at], ['pending', null]);
  await world.api('POST', `/event_destinations/${lane.destinationId}/resume`);
  await world.settled(lane, { delivered: 3 });
  assert.deepEqual(
    world.receiver.at(lane.path).map((each) => each.event.object.id),
    ids,
  );
});

test('410 suspends the destination, and the event stays until it is resumed', async (t) => {
  const world = await EventWorld.open(t);
  const watcher = await world.lane(['event_destination_updated.v0']);
  const lane = await world.lane([TYPE]);
  world.receiver.behave(lane.path, 410);
  await world.policies(2);
  await world.settled(lane, { isHeld: true, pending: 2 });
  assert.equal((await world.api('GET', `/event_destinations/${lane.destinationId}`)).status, 'suspended');
  assert.equal(world.receiver.at(lane.path).length, 1);
  // Reported like any other change; no API key caused it.
  const [told] = await world.receiver.until(watcher.path, 1);
  assert.deepEqual([told?.event.object.status, told?.event.principal], ['suspended', null]);
  world.receiver.behave(lane.path, 204);
  await world.api('POST', `/event_destinations/${lane.destinationId}/resume`);
  await world.settled(lane, { delivered: 2 });
});

test('a test sends a signed sample past the lanes and returns the outcome', async (t) => {
  const world = await EventWorld.open(t);
  const lane = await world.lane([]);
  await world.api('POST', `/event_destinations/${lane.destinationId}/pause`);
  const good = await world.api('POST', `/event_destinations/${lane.destinationId}/test`);
  assert.deepEqual([good.is_delivered, good.status, good.error], [true, 204, null]);
  const [received] = world.receiver.at(lane.path);
  assert.ok(received);
  verify(received, lane.secret);
  assert.deepEqual(received.event, good.event);
  assert.equal(good.event.event_type, 'event_destination_test.v0');
  world.receiver.behave(lane.path, 500);
  const bad = await world.api('POST', `/event_destinations/${lane.destinationId}/test`);
  assert.deepEqual([bad.is_delivered, bad.status, bad.error], [false, 500, 'the receiver returned 500']);
  await world.api('PATCH', `/event_destinations/${lane.destinationId}`, {
    target: { webhook: { url: 'http://169.254.169.254/latest' } },
  });
  const refused = await world.api('POST', `/event_destinations/${lane.destinationId}/test`);
  assert.deepEqual([refused.is_delivered, refused.status], [false, null]);
  assert.match(refused.error, /connections to the address 169\.254\.169\.254 are not allowed/);
  assert.deepEqual(await world.deliveries(lane), []);
});

test('replays one delivery, all dead ones, or a range, and the event keeps its id', async (t) => {
  const world = await EventWorld.open(t);
  const lane = await world.lane([TYPE]);
  await world.policies(3);
  await world.settled(lane, { delivered: 3 });
  const [newest] = await world.deliveries(lane);
  const replayed = await world.api('POST', `/event_deliveries/${newest.id}/replay`);
  assert.notEqual(replayed.id, newest.id);
  assert.deepEqual(replayed.event, newest.event);
  await world.settled(lane, { enqueued: 4, delivered: 4 });
  const again = world.receiver.at(lane.path);
  assert.equal(again[3]?.id, again[2]?.id);
  assert.deepEqual(await world.api('POST', '/event_deliveries/replay', {}), { replayed: 0 });
  const body = { state: 'delivered', since: newest.created_at };
  assert.deepEqual(await world.api('POST', '/event_deliveries/replay', body), { replayed: 2 });
  await world.settled(lane, { enqueued: 6, delivered: 6 });
  await world.api('DELETE', `/event_subscriptions/${lane.subscriptionId}`);
  const closed = await world.world.api('POST', `/event_deliveries/${newest.id}/replay`);
  assert.deepEqual([closed.status, closed.body.error_code], [409, 'ERR_POSTERN_DELIVERY_CLOSED']);
});

test('deleting a subscription cancels pending deliveries, and nothing more is sent', async (t) => {
  const world = await EventWorld.open(t);
  const lane = await world.lane([TYPE]);
  world.receiver.behave(lane.path, 503);
  await world.policies(5);
  await world.receiver.until(lane.path, 1);
  const referred = await world.world.api('DELETE', `/event_destinations/${lane.destinationId}`);
  assert.equal(referred.status, 409);
  await world.api('DELETE', `/event_subscriptions/${lane.subscriptionId}`);
  const count = world.receiver.at(lane.path).length;
  await world.settled(lane, { cancelled: 5, pending: 0 });
  assert.deepEqual(
    (await world.deliveries(lane)).map(({ state }) => state),
    Array(5).fill('cancelled'),
  );
  await world.api('DELETE', `/event_destinations/${lane.destinationId}`);
  const other = await world.lane([TYPE]);
  await world.policies(1);
  await world.settled(other, { delivered: 1 });
  assert.equal(world.receiver.at(lane.path).length, count);
});

test('an added or removed type takes effect with the next event', async (t) => {
  const world = await EventWorld.open(t);
  const lane = await world.lane([]);
  const sources = `/event_subscriptions/${lane.subscriptionId}/sources`;
  await world.policies(1);
  await world.api('POST', sources, { type: TYPE });
  const [wanted] = await world.policies(1);
  await world.world.api('DELETE', `${sources}/${TYPE}`);
  await world.policies(1);
  const { enqueued } = await world.settled(lane, { delivered: 1 });
  assert.equal(enqueued, 1);
  assert.equal(world.receiver.at(lane.path)[0]?.event.object.id, wanted);
});

test('delivers events to a file like to a webhook', async (t) => {
  const world = await EventWorld.open(t);
  const destination = await world.api('POST', '/event_destinations', { target: { file: { name: 'audit.ndjson' } } });
  const subscription = await world.api('POST', '/event_subscriptions', {
    sources: [{ type: TYPE }],
    destination_ids: [destination.id],
  });
  const lane = { subscriptionId: subscription.id, destinationId: destination.id, secret: '', path: '' };
  const ids = await world.policies(10);
  await world.settled(lane, { delivered: 10 });
  const text = await readFile(join(world.world.dataDir, 'events', 'audit.ndjson'), 'utf8');
  const lines = text.trimEnd().split('\n');
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).object.id),
    ids,
  );
  const tried = await world.api('POST', `/event_destinations/${destination.id}/test`);
  assert.deepEqual([tried.is_delivered, tried.status], [true, null]);
});

test('metrics cover every lane', async (t) => {
  const world = await EventWorld.open(t);
  const well = await world.lane([TYPE]);
  const paused = await world.lane([TYPE]);
  await world.api('POST', `/event_destinations/${paused.destinationId}/pause`);
  await world.policies(2);
  await world.settled(well, { delivered: 2 });
  const { text } = await world.world.api('GET', '/metrics');
  const labels = (lane: typeof well) => `subscription="${lane.subscriptionId}",destination="${lane.destinationId}"`;
  for (const line of [
    `postern_event_deliveries_total{${labels(well)},outcome="enqueued"} 2`,
    `postern_event_deliveries_total{${labels(well)},outcome="delivered"} 2`,
    `postern_event_deliveries_total{${labels(well)},outcome="dead"} 0`,
    `postern_event_deliveries_pending{${labels(paused)}} 2`,
    'postern_event_attempts_total{kind="webhook",verdict="delivered"} 2',
  ])
    assert.ok(text.includes(line), line);
  const oldest = (lane: typeof well) =>
    new RegExp(`postern_event_oldest_pending_timestamp_seconds\\{${labels(lane)}\\} (\\S+)`).exec(text)?.[1];
  assert.equal(oldest(well), undefined);
  const ageSeconds = Date.now() / 1000 - Number(oldest(paused));
  assert.ok(ageSeconds >= 0 && ageSeconds < 60, String(ageSeconds));
});
