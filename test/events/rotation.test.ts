import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventWorld } from './support/event-world.ts';
import { verify } from './support/receiver.ts';

const NEXT = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;

test('rotates a secret with two valid ones in between, and removes the old one', async (t) => {
  const world = await EventWorld.open(t);
  const lane = await world.lane(['ip_policy_created.v0']);
  const path = `/event_destinations/${lane.destinationId}`;
  const url = world.receiver.url(lane.path);
  const change = async (webhook: object) =>
    (await world.api('PATCH', path, { target: { webhook: { url, ...webhook } } })).target.webhook;
  const latest = async (count: number) => {
    await world.policies(1);
    const received = (await world.receiver.until(lane.path, count)).at(-1);
    assert.ok(received);
    return received;
  };

  const both = await change({ secret: NEXT, previous_secret: lane.secret });
  assert.deepEqual([both.secret, both.previous_secret], ['********', '********']);
  const first = await latest(1);
  for (const secret of [lane.secret, NEXT]) verify(first, secret);

  // Sending back what was read, or omitting a field, changes nothing.
  await change({ secret: '********', previous_secret: '********' });
  await change({});
  const second = await latest(2);
  for (const secret of [lane.secret, NEXT]) verify(second, secret);

  assert.equal((await change({ previous_secret: '' })).previous_secret, '');
  const third = await latest(3);
  verify(third, NEXT);
  assert.throws(() => verify(third, lane.secret));

  const refused = await world.world.api('PATCH', path, { target: { webhook: { url, secret: '' } } });
  assert.equal(refused.status, 400);
  assert.match(refused.text, /\/target\/webhook\/secret/);
  verify(await latest(4), NEXT);
});

test('omitted headers stay, and an empty map removes them', async (t) => {
  const world = await EventWorld.open(t);
  const lane = await world.lane(['ip_policy_created.v0'], { headers: { 'x-key': 'one' } });
  const path = `/event_destinations/${lane.destinationId}`;
  const url = world.receiver.url(lane.path);
  const headerOf = async (count: number) => {
    await world.policies(1);
    return (await world.receiver.until(lane.path, count)).at(-1)?.headers['x-key'];
  };
  await world.api('PATCH', path, { description: 'changed', target: { webhook: { url } } });
  assert.equal(await headerOf(1), 'one');
  await world.api('PATCH', path, { target: { webhook: { url, headers: {} } } });
  assert.equal(await headerOf(2), undefined);
});
