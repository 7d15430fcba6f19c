import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { EdgeWorld } from '../../support/edge-world.ts';
import { recordingUpstream } from '../traffic/recording-upstream.ts';

/**
 * A module that only a later version knows: in a store after a downgrade, or written by that version during an upgrade.
 * It may be there to deny access.
 */
const upstream = await recordingUpstream({ after });
const edgeWorld = await EdgeWorld.open({ after });
const { store } = edgeWorld.world;
const backend = await edgeWorld.staticBackend(upstream.address);

async function putUnknown(ownerKind: string, ownerId: string, name: string, enabled: boolean): Promise<void> {
  const key = { kind: `${ownerKind}.${name}`, id: `${ownerId}.${name}` };
  const result = await store.commit({
    puts: [{ ...key, parent: ownerId, doc: { enabled }, secrets: null, uniqueKeys: [], references: [] }],
  });
  assert.ok(result.ok, JSON.stringify(result));
}

const routeIdOf = (routePath: string): string => routePath.split('/').at(-1) ?? '';

test('on a route: the route rejects with the reason, and is open again once the module is disabled', async () => {
  const site = await edgeWorld.site(backend);
  const free = await edgeWorld.route(site.edgeId, '/free');
  await edgeWorld.api('PUT', `${free}/backend`, { backend_id: backend });
  assert.equal((await edgeWorld.ask(site.host)).status, 200);
  upstream.forget();

  await putUnknown('https_edge_route', site.routeId, 'paywall', true);
  const refused = await edgeWorld.ask(site.host);
  assert.equal(refused.status, 503);
  assert.match(refused.text, /ERR_POSTERN_MODULE_UNAVAILABLE/);
  assert.deepEqual(upstream.seen, []);
  assert.equal((await edgeWorld.ask(site.host, '/free')).status, 200);
  const { headers } = await edgeWorld.world.api('GET', site.routePath);
  assert.match(headers.get('postern-problem') ?? '', /^paywall: .*later version of Postern/);

  await putUnknown('https_edge_route', site.routeId, 'paywall', false);
  assert.equal((await edgeWorld.ask(site.host)).status, 200);
  // A second record of a kind that has been seen before.
  await putUnknown('https_edge_route', routeIdOf(free), 'paywall', true);
  assert.equal((await edgeWorld.ask(site.host, '/free')).status, 503);
  assert.equal((await edgeWorld.ask(site.host)).status, 200);
});

test('on an edge: no handshake is accepted', async () => {
  const site = await edgeWorld.site(backend);
  const beside = await edgeWorld.site(backend);
  assert.equal((await edgeWorld.ask(site.host)).status, 200);
  await putUnknown('https_edge', site.edgeId, 'device_check', true);
  upstream.forget();
  await assert.rejects(edgeWorld.ask(site.host));
  assert.deepEqual(upstream.seen, []);
  assert.equal((await edgeWorld.ask(beside.host)).status, 200);
});
