// Waits for several looks of a server, which are five seconds apart.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../support/cluster.ts';
import { newHost } from '../support/edge-world.ts';
import { TunnelWorld } from '../support/tunnel-world.ts';
import { QUICK_TRIES } from '../tunnel/support/fault-world.ts';
import { FaultyProxy } from '../tunnel/support/faulty-proxy.ts';

/** More than both limits, and than the time after which what works again is resolved. */
const JUMP_MS = 61_000;

test('an agent that goes away and a backend that fails raise alerts, which their return resolves', async (t) => {
  let aheadMs = 0;
  const clock = { nowMs: () => Date.now() + aheadMs };
  const env = { POSTERN_ALERT_AGENT_AWAY: '60', POSTERN_ALERT_BACKEND_FAILING: '60' };
  const world = await TunnelWorld.open(t, env, { clock });
  const service = createServer((_request, response) => response.end('works')).listen(0, '127.0.0.1');
  await once(service, 'listening');
  const { port } = service.address() as { port: number };
  service.close();
  t.after(() => service.close());

  const host = newHost();
  const idOf = (operation: number): string => `$\{${operation}.id}`;
  await world.edge.api('POST', '/changesets', {
    operations: [
      { method: 'POST', path: '/backends/static', body: { address: `127.0.0.1:${port}`, description: 'shop' } },
      { method: 'POST', path: '/edges/https', body: { hostports: [`${host}:443`] } },
      {
        method: 'POST',
        path: `/edges/https/${idOf(1)}/routes`,
        body: { match: '/', match_type: 'path_prefix', backend: { backend_id: { $ref: 0, field: 'id' } } },
      },
    ],
  });
  const wire = await FaultyProxy.open(t, world.port);
  const agent = { serverAddr: wire.addr, timings: QUICK_TRIES, metadata: 'builder' };
  await world.agent([{ labels: { of: 'test' }, addr: `127.0.0.1:${port}` }], agent);
  const raised = async (): Promise<string[]> =>
    (await world.edge.api('GET', '/alerts')).alerts.map(({ kind }: { kind: string }) => kind).sort();
  // Requests show whether the backend works. The time passes between two looks of the server.
  let looks = 0;
  const seen = async (expected: readonly string[]): Promise<boolean> => {
    await world.edge.ask(host, '/');
    await sleep(200);
    looks += 1;
    if (looks % 30 === 0) aheadMs += JUMP_MS;
    return (await raised()).join() === expected.join();
  };
  await until('the backend fails', () => seen(['backend_failing']), 120_000);
  // An agent that is closed says farewell, and nobody misses it.
  wire.isDown = true;
  for (const connection of wire.open) connection.cut();
  await until('the agent is missed', () => seen(['agent_away', 'backend_failing']), 120_000);
  const titles = (await world.edge.api('GET', '/alerts')).alerts.map(({ title }: { title: string }) => title).sort();
  assert.match(titles[0], /^the agent "builder" of credential cr_\w+ is away$/);
  assert.match(titles[1], /^the backend "shop" \(bkd\w+\) fails$/);
  service.listen(port, '127.0.0.1');
  wire.isDown = false;
  await until('both are well', () => seen([]), 120_000);
  assert.equal((await world.edge.ask(host, '/')).body.toString(), 'works');
});
