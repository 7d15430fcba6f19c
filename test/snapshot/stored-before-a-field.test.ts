import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonObject } from '../../src/kit/json.ts';
import type { RecordPut } from '../../src/store/store.ts';
import { recordingUpstream } from '../edge/traffic/recording-upstream.ts';
import { EdgeWorld } from '../support/edge-world.ts';

const upstream = await recordingUpstream({ after });

/** Stores a document without some of its fields, as a version that did not have them would have. */
async function storeWithout(
  { world }: EdgeWorld,
  { kind, id }: Pick<RecordPut, 'kind' | 'id'>,
  fields: readonly string[],
): Promise<void> {
  const { replica, store } = world.server;
  const record = replica.get(kind, id);
  assert.ok(record !== undefined);
  const doc = Object.fromEntries(Object.entries(record.doc).filter(([name]) => !fields.includes(name))) as JsonObject;
  const result = await store.commit({ puts: [{ ...record, doc, uniqueKeys: [], references: [] }] });
  assert.ok(result.ok);
  for (let n = 0; replica.get(kind, id) === record && n < 100; n += 1) await sleep(20);
}

suite('a record that was stored before a field existed', () => {
  for (const workers of ['1', '2']) {
    test(`has the default of the field for traffic and for the API, with workers = ${workers}`, async (t) => {
      const world = await EdgeWorld.open(t, { POSTERN_WORKERS: workers });
      const backend = await world.staticBackend(upstream.address);
      const { host, routeId: route, routePath: path } = await world.site(backend);
      await storeWithout(world, { kind: 'static_backend', id: backend }, ['tls']);
      assert.deepEqual((await world.api('GET', `/backends/static/${backend}`)).tls, { enabled: false });
      assert.equal((await world.ask(host, '/')).status, 200);

      const sent = { message: 'Back at noon.' };
      const complete = await world.api('PUT', `${path}/maintenance`, sent);
      const key = { kind: 'https_edge_route.maintenance', id: `${route}.maintenance` };
      await storeWithout(world, key, ['retry_after', 'allow_cidrs']);
      assert.deepEqual(await world.api('GET', `${path}/maintenance`), complete);
      const { status, text, headers } = await world.ask(host, '/');
      assert.deepEqual([status, headers['retry-after']], [503, '600']);
      assert.match(text, /Back at noon\./);

      const { revision } = world.world.server.replica;
      assert.deepEqual(await world.api('PUT', `${path}/maintenance`, complete), complete);
      assert.equal(world.world.server.replica.revision, revision, 'a client that sends what it read changes nothing');
    });
  }
});
