import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventWorld } from './support/event-world.ts';
import { verify } from './support/receiver.ts';

test('a change becomes a signed request at its receiver, and a delivery in the API', async (t) => {
  const world = await EventWorld.open(t);
  const lane = await world.lane(['ip_policy_created.v0'], { headers: { 'x-tenant': 'blue' } });
  const [id] = await world.policies(1);
  const [received] = await world.receiver.until(lane.path, 1);
  assert.ok(received);
  assert.equal((verify(received, lane.secret) as { object: { id: string } }).object.id, id);
  assert.throws(() => verify(received, `whsec_${Buffer.alloc(32).toString('base64')}`), /No matching signature/);
  assert.equal(received.headers['x-tenant'], 'blue');
  assert.equal(received.headers['webhook-id'], received.event.event_id);
  await world.settled(lane, { delivered: 1, pending: 0 });
  const [delivery] = await world.deliveries(lane);
  assert.equal(delivery.state, 'delivered');
  assert.equal(delivery.next_attempt_at, null);
  assert.deepEqual(delivery.event, received.event);
  assert.equal(delivery.attempts.length, 1);
  assert.equal(delivery.attempts[0].status, 204);
  assert.equal(delivery.attempts[0].error, null);
});
