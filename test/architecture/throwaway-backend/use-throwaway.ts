import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { after, test } from 'node:test';
import { EdgeWorld } from '../../support/edge-world.ts';

/** Runs in a copy of the project that has the throwaway kind: see `throwaway-backend.test.ts`. */
test('a throwaway kind is served by the API, the compiler and the edge', { timeout: 60_000 }, async () => {
  const world = await EdgeWorld.open({ after });
  const upstream = createServer((_request, response) => response.end('from the address')).listen(0, '127.0.0.1');
  // The edge closes connections.
  upstream.keepAliveTimeout = 0;
  await once(upstream, 'listening');
  after(() => upstream.close());
  const connection = once(upstream, 'connection') as Promise<[Socket]>;
  const { port } = upstream.address() as AddressInfo;

  const refused = await world.world.api('POST', '/backends/throwaway', { address: 'nowhere' });
  assert.equal(refused.status, 400);
  const { id, tunnels_online } = await world.api('POST', '/backends/throwaway', {});
  assert.equal(tunnels_online, 0);
  assert.match(id, /^bkdta_/);

  const site = await world.site(id);
  const bare = await world.ask(site.host);
  assert.equal(bare.status, 503);
  assert.equal(bare.headers['postern-error-code'], 'ERR_POSTERN_THROWAWAY');

  const fallback = await world.httpResponse('from the fallback');
  await world.api('PATCH', `/backends/throwaway/${id}`, { fallback: [fallback] });
  assert.equal((await world.ask(site.host)).text, 'from the fallback');
  assert.equal((await world.world.api('DELETE', `/backends/http_response/${fallback}`)).status, 409);

  await world.api('PATCH', `/backends/throwaway/${id}`, { address: `127.0.0.1:${port}` });
  assert.equal((await world.ask(site.host)).text, 'from the address');

  // Kinds that accept any backend accept this one too, and cycles through it are found.
  const { id: outer } = await world.api('POST', '/backends/failover', { backends: [id] });
  const cycle = await world.world.api('PATCH', `/backends/throwaway/${id}`, { fallback: [outer] });
  assert.equal(cycle.body.error_code, 'ERR_POSTERN_REFERENCE_CYCLE');
  assert.equal((await world.ask((await world.site(outer)).host)).text, 'from the address');

  // No edge uses the address: its pool is drained.
  const [socket] = await connection;
  const closed = once(socket, 'close');
  for (const { id: edgeId } of (await world.api('GET', '/edges/https')).https_edges) {
    await world.api('DELETE', `/edges/https/${edgeId}`);
  }
  await closed;
});
