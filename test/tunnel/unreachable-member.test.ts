import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { TunnelWorld } from '../support/tunnel-world.ts';

const REST_MS = 3000;

test('rests a member whose service is down, although it never has requests in progress', async () => {
  const world = await TunnelWorld.open({ after });
  const local = createServer((request, response) => request.resume().once('end', () => response.end('done')));
  await new Promise<void>((resolve) => {
    local.listen(0, '127.0.0.1', resolve);
  });
  after(() => local.close());
  const group = await world.edge.api('POST', '/backends/tunnel_group', { labels: { app: 'rest' } });
  const { host } = await world.edge.site(group.id);
  // Port 1 accepts no connections.
  await world.agent([{ labels: { app: 'rest' }, addr: 1 }]);
  await world.agent([{ labels: { app: 'rest' }, addr: (local.address() as AddressInfo).port }]);
  const startedAt = performance.now();
  const statuses: number[] = [];
  // A started body cannot be sent elsewhere: a request to the dead member fails.
  const agent = world.edge.agent();
  for (let sent = 0; sent < 40; sent += 1) {
    statuses.push(await world.edge.status(host, '/', { method: 'POST', body: Buffer.alloc(100_000), agent }));
  }
  agent.destroy();
  const failed = statuses.filter((status) => status !== 200).length;
  const mayFail = 1 + Math.ceil((performance.now() - startedAt) / REST_MS);
  assert.ok(failed <= mayFail, `${failed} of ${statuses.length} failed, and ${mayFail} may`);
});
