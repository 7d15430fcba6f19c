import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, suite, test } from 'node:test';
import { FURNISHED_ENV, FurnishedWorld, nameOf, operations } from '../conformance/furnished-world.ts';
import { freePortsOn } from '../support/cluster/own-addresses.ts';
import { Wire } from '../support/cluster/wire.ts';
import { freshDatabase, startPostgres } from '../support/postgres.ts';
import { TestWorld } from '../support/test-world.ts';

/** A read that waits for the database fails after 15 seconds. */
const AT_ONCE_MS = 12_000;

/**
 * Lists of these resources have no upper bound, so they are only in the database; sessions and tunnels are in memory
 * with peers.
 */
const NEEDS_DATABASE =
  /^(changes|app_sessions|app_users|event_deliveries|tunnels|tunnel_sessions|endpoints|tunnel_group)\.|\.access\.review$/;

const postgres = await startPostgres();
after(() => postgres.stop());
const { url } = await freshDatabase(postgres);
const target = { host: '127.0.0.1', port: Number(new URL(url).port) };
const [port = 0] = await freePortsOn('127.0.0.1', 1);
const wire = await Wire.open({ after }, { host: '127.0.0.1', port }, target);
const databaseUrl = Object.assign(new URL(url), { port: String(port) }).href;
const env = {
  ...FURNISHED_ENV,
  POSTERN_SECRET_KEY: randomBytes(32).toString('base64'),
  POSTERN_ROLES: 'api,events',
  POSTERN_PEER_LISTEN: 'off',
};
const world = await TestWorld.open({ after }, { databaseUrl, env });
const furnished = await FurnishedWorld.furnish(world);
const paths = operations
  .filter((each) => each.method === 'GET' && !NEEDS_DATABASE.test(nameOf(each)))
  .map((each) => furnished.path(each));
const answered: string[] = [];
for (const path of [...paths, '/healthz', '/healthz?verbose', '/openapi.json', '/docs', '/console/']) {
  // A module that is not set gets 404, and another node may have set it: that needs the database.
  if ((await world.api('GET', path)).status === 200) answered.push(path);
}
let before = '';
// On a busy machine the first scrapes may not wait long enough for the database.
while (!before.includes('postern_event_deliveries_pending{')) before = (await world.api('GET', '/metrics')).text;

/** Nobody answers and nobody hangs up, as behind a firewall that drops packets: every read waits for its timeout. */
suite('while the database is silent', () => {
  test('/metrics answers at once, with what was known', async () => {
    assert.match(before, /postern_event_deliveries_pending\{subscription="esb_/);
    wire.set('', 'black-hole');
    for (let scrape = 0; scrape < 3; scrape += 1) {
      const startedAt = performance.now();
      const { status, text } = await world.api('GET', '/metrics');
      assert.equal(status, 200, text);
      assert.ok(performance.now() - startedAt < AT_ONCE_MS, 'it waited for the database');
      for (const name of ['postern_revision', 'postern_event_deliveries_total', 'postern_event_lane_held'])
        assert.equal(lineOf(text, name), lineOf(before, name));
    }
  });

  test('so does every read that needs no database', async () => {
    assert.ok(answered.length > 50);
    await Promise.all(
      answered.map(async (path) => {
        const { status, text } = await world.api('GET', path);
        assert.equal(status, 200, `${path}: ${text}`);
      }),
    );
  });
});

function lineOf(text: string, name: string): string | undefined {
  return text.split('\n').find((line) => line.startsWith(name));
}
