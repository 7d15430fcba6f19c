import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { freshDatabase, type PostgresServer, startPostgres } from '../support/postgres.ts';
import { EventWorld } from './support/event-world.ts';

const TYPE = 'ip_policy_created.v0';
const SECRET_KEY = Buffer.alloc(32, 5).toString('base64');
let postgres: PostgresServer;
before(async () => {
  postgres = await startPostgres();
});
after(() => postgres.stop());

test('one of several processes on one database holds a lane at a time, and all lanes are served in order', async (t) => {
  const database = await freshDatabase(postgres);
  const worlds = [];
  for (let count = 0; count < 3; count += 1) {
    worlds.push(await EventWorld.open(t, { POSTERN_SECRET_KEY: SECRET_KEY }, { databaseUrl: database.url }));
  }
  t.after(() => database.drop());
  const [first, second, third] = worlds as [EventWorld, EventWorld, EventWorld];
  let underWay = 0;
  let most = 0;
  const lanes = [];
  for (let count = 0; count < 4; count += 1) {
    const lane = await first.lane([TYPE]);
    lanes.push(lane);
    const busy = { requests: 0 };
    first.receiver.behave(lane.path, (_received, response) => {
      busy.requests += 1;
      underWay += 1;
      most = Math.max(most, underWay);
      assert.equal(busy.requests, 1, 'one request at a time in a lane');
      setTimeout(() => {
        busy.requests -= 1;
        underWay -= 1;
        response.writeHead(204).end();
      }, 5);
    });
  }
  const made = await Promise.all(worlds.map((world) => world.policies(30)));
  for (const lane of lanes) {
    await first.settled(lane, { delivered: 90 });
    const seen = first.receiver.at(lane.path).map((each) => each.event.object.id as string);
    assert.equal(seen.length, 90, 'nothing was sent twice');
    assert.deepEqual(new Set(seen), new Set(made.flat()));
    for (const ids of made) {
      assert.deepEqual(
        seen.filter((id) => ids.includes(id)),
        ids,
      );
    }
  }
  assert.ok(most > 1, 'lanes go beside each other');

  // A stopping process releases its lanes to the others immediately.
  await Promise.all([second.world.close(), third.world.close()]);
  await first.policies(5);
  for (const lane of lanes) await first.settled(lane, { delivered: 95 });
});

test('a subscription created in one process applies to the next change in every other', async (t) => {
  const database = await freshDatabase(postgres);
  const open = () => EventWorld.open(t, { POSTERN_SECRET_KEY: SECRET_KEY }, { databaseUrl: database.url });
  const [one, other] = [await open(), await open()];
  t.after(() => database.drop());
  for (let round = 0; round < 10; round += 1) {
    // Each with its own type, so that nothing of the last round is known.
    const type = round % 2 === 0 ? 'ip_policy_created.v0' : 'ip_policy_updated.v0';
    const [id] = await other.policies(1);
    const lane = await one.lane([type]);
    if (round % 2 === 0) await other.policies(1);
    else await other.api('PATCH', `/ip_policies/${id}`, { description: 'changed' });
    await one.settled(lane, { delivered: 1 });
    await one.api('DELETE', `/event_subscriptions/${lane.subscriptionId}`);
  }
});
