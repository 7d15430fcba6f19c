import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { recordingUpstream } from '../../edge/traffic/recording-upstream.ts';
import { halfClosedSuite, silentService } from '../../support/clients/half-closed-suite.ts';
import { pipeliningSuite } from '../../support/clients/pipelining-suite.ts';
import { freePortsOn, ownAddresses } from '../../support/cluster/own-addresses.ts';
import { until } from '../../support/cluster.ts';
import type { EdgeWorld } from '../../support/edge-world.ts';
import { freshDatabase, startPostgres } from '../../support/postgres.ts';
import { firstOf } from '../../support/share-of-cases.ts';
import { TunnelWorld } from '../../support/tunnel-world.ts';
import { bothWays } from '../../tunnel/traffic/ways.ts';

/** The agent is connected to one node, and visitors to the other. */
const idleSeconds = 1;
const FORM = { 'content-type': 'application/x-www-form-urlencoded', origin: 'null', 'sec-fetch-site': 'same-origin' };
const upstream = await recordingUpstream({ after });
const service = await silentService({ after });
const { home, visited } = await twoNodes();
const [far = assert.fail(), group = assert.fail()] = await bothWays(home, { addr: upstream.address });
const sockets = await bothWays(home, { addr: service.address });
for (const { host } of [far, group]) await until(`${host} is known`, async () => (await visited.status(host)) === 200);

async function twoNodes(): Promise<{ readonly home: TunnelWorld; readonly visited: EdgeWorld }> {
  const tasks: (() => Promise<void>)[] = [];
  after(async () => {
    for (const task of tasks.toReversed()) await task();
    await database.drop();
    await postgres.stop();
  });
  const cleanup = { after: (task: () => Promise<void>) => void tasks.push(task) };
  const postgres = await startPostgres();
  const database = await freshDatabase(postgres);
  const addresses = ownAddresses(2);
  const [peer = 0] = await freePortsOn(addresses[0] ?? '', 1);
  const open = (host = '', dataDir?: string): Promise<TunnelWorld> =>
    TunnelWorld.open(
      cleanup,
      {
        POSTERN_NODE_NAME: host,
        POSTERN_PEER_LISTEN: `${host}:${peer}`,
        POSTERN_TCP_PORTS: `${host}:21000-21009`,
        POSTERN_EDGE_HEADER_TIMEOUT: '1',
        POSTERN_EDGE_IDLE_TIMEOUT: String(idleSeconds),
        POSTERN_REQUEST_HISTORY_QUERY: 'true',
      },
      { databaseUrl: database.url, ...(dataDir !== undefined && { dataDir }) },
    );
  const first = await open(addresses[0]);
  const second = await open(addresses[1], first.edge.world.dataDir);
  return { home: first, visited: second.edge };
}

for (const { name, host } of [far, group])
  pipeliningSuite({ name: `${name} over a hop`, many: 200, host, connect: () => visited.connect(host), upstream });
for (const { name, host } of firstOf(sockets))
  halfClosedSuite({ name: `${name} over a hop`, host, edge: visited, service, idleSeconds });

suite('own paths over a hop', () => {
  test('a guest link is redeemed where the visitor is, and its secret is in no record of either node', async () => {
    const { edge } = home;
    const [{ id: edgeId, routes }] = (await edge.api('GET', '/edges/https')).https_edges.filter(
      ({ hostports }: { readonly hostports: readonly string[] }) => hostports[0]?.startsWith(group.host),
    );
    await edge.api('PUT', `/edges/https/${edgeId}/routes/${routes[0].id}/access`, { allow: [{ guests: true }] });
    const link = await edge.api('POST', '/guest_links', {
      edge_id: edgeId,
      route_id: routes[0].id,
      expires_at: new Date(Date.now() + 86_400_000).toISOString(),
    });
    const { pathname, search, searchParams } = new URL(link.url);
    const secret = searchParams.get('link') ?? assert.fail();
    await until('the rule is known', async () => (await visited.status(group.host)) !== 200);
    upstream.answer = null;
    upstream.forget();
    assert.equal(await visited.status(group.host, `${pathname}${search}`), 200);
    const redeemed = await visited.ask(group.host, pathname, { method: 'POST', headers: FORM, body: `link=${secret}` });
    assert.equal(redeemed.status, 303, redeemed.text);
    assert.equal(upstream.seen.length, 0, 'the service hears nothing of it');
    const cookie = [redeemed.headers['set-cookie'] ?? []].flat().map((line) => line.split(';')[0]);
    const page = await visited.ask(group.host, '/page?kept=here', { headers: { cookie: cookie.join('; ') } });
    assert.deepEqual([page.status, JSON.parse(page.text).url], [200, '/page?kept=here']);
    for (const node of [edge, visited]) {
      const kept = JSON.stringify([await node.api('GET', '/requests?limit=100'), node.world.logLines]);
      assert.ok(!kept.includes(secret), 'a record has it');
      if (node === visited) assert.match(kept, /kept=here/);
    }
  });

  test('without modules they do not reach the service', async () => {
    upstream.forget();
    assert.equal(await visited.status(far.host, '/.postern/guest?link=mine'), 404);
    assert.equal(upstream.seen.length, 0);
  });
});
