import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { ENGINES, made, makeEdge, makeRoute, makeStaticBackend, openWorld, usePostgres } from './worlds.ts';

usePostgres();

for (const engine of ENGINES) {
  suite(`records of modules on ${engine}`, () => {
    test('deleting one module keeps the routes of the edge and all other modules', async (t) => {
      const world = await openWorld(t, engine);
      const edge = await makeEdge(world);
      const route = await makeRoute(world, edge);
      const backend = await makeStaticBackend(world);
      await world.api('PUT', `${edge.uri}/mutual_tls`, { enabled: false });
      await world.api('PUT', `${edge.uri}/tls_termination`, {});
      await world.api('PUT', `${route.uri}/compression`, {});
      await world.api('PUT', `${route.uri}/backend`, { backend_id: backend.id });

      assert.equal((await world.api('DELETE', `${route.uri}/compression`)).status, 204);
      assert.equal((await world.api('DELETE', `${edge.uri}/tls_termination`)).status, 204);
      const { body } = await world.api('GET', edge.uri);
      assert.equal(body.tls_termination, null);
      assert.deepEqual(body.mutual_tls, { enabled: false, certificate_authorities: [] });
      assert.equal(body.routes.length, 1);
      assert.equal(body.routes[0].compression, null);
      assert.equal(body.routes[0].backend.backend.id, backend.id);
    });

    test('rejects a module, and stores no orphan, when its route was deleted since the replica was read', async (t) => {
      const world = await openWorld(t, engine);
      const route = await makeRoute(world);
      const [deleted, put] = await Promise.all([
        world.api('DELETE', route.uri),
        world.api('PUT', `${route.uri}/compression`, {}),
      ]);
      assert.equal(deleted?.status, 204);
      assert.ok(put?.status === 404 || put?.status === 200);
      assert.equal(world.server.replica.count('https_edge_route.compression'), 0);
    });

    test('names a module that refers to a resource by its edge or route', async (t) => {
      const world = await openWorld(t, engine);
      const route = await makeRoute(world);
      const policy = made(await world.api('POST', '/ip_policies', {}));
      await world.api('PUT', `${route.uri}/ip_restriction`, { ip_policy_ids: [policy.id] });
      const { status, body } = await world.api('DELETE', policy.uri);
      assert.equal(status, 409);
      assert.equal(body.details.referred_by, route.id);
      assert.match(body.msg, new RegExp(`the ip_restriction module of https edge route ${route.id} `));
    });
  });
}
