import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LoginWorld } from '../support/login-world.ts';
import { Receiver } from './support/receiver.ts';

test('the event of a request names the logged-in user and a rehearsed rule, and nobody otherwise', async (t) => {
  const receiver = await Receiver.open(t);
  const world = await LoginWorld.open(t, {
    env: { POSTERN_ROLES: 'api,edge,events', POSTERN_EVENTS_ALLOW_CIDRS: '127.0.0.0/8' },
  });
  const { edge } = world;
  const site = await world.site();
  const destination = await edge.api('POST', '/event_destinations', {
    target: { webhook: { url: receiver.url('/') } },
  });
  await edge.api('POST', '/event_subscriptions', {
    sources: [{ type: 'http_request_complete.v0' }],
    destination_ids: [destination.id],
  });
  await edge.api('PUT', `${site.routePath}/access`, { enforce: false, deny: [{ claims: { groups: ['staff'] } }] });
  const browser = world.browser();
  assert.equal((await browser.logIn(site.host, '/inside')).status, 200);
  const { application_users: users } = await edge.api('GET', '/app/users');
  const objects = (await receiver.until('/', 2)).map(({ event }) => event.object);
  assert.deepEqual(
    objects.map(({ path, status, user_id }) => [path, status, user_id]),
    [
      // A visitor who was redirected to the login had no identity yet; the login's own paths are not reported.
      ['/inside', objects[0]?.status, null],
      ['/inside', 200, users[0].id],
    ],
  );
  assert.deepEqual(
    objects.map(({ auth_kind: kind, access, access_rule: rule }) => [kind, access, rule]),
    [
      [null, null, null],
      ['user', 'would_refuse', 'deny[0]'],
    ],
  );
});
