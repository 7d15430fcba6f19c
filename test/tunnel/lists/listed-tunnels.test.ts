import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { newHost } from '../../support/edge-world.ts';
import { isLong } from '../../support/share-of-cases.ts';
import { TunnelWorld } from '../../support/tunnel-world.ts';
import { eventually, hostOf, listed, localHttp, QUICK_TRIES } from '../support/fault-world.ts';
import { FaultyProxy } from '../support/faulty-proxy.ts';

const world = await TunnelWorld.open({ after });
const LEAST_MS = isLong ? 6_000 : 1_000;
const port = await localHttp({ after }, (_request, response) => response.end('here'));

interface Listed {
  readonly id: string;
  readonly public_url: string;
}

async function tunnels(): Promise<readonly Listed[]> {
  return (await world.edge.api('GET', '/tunnels?limit=100')).tunnels;
}

test('a listed tunnel gets traffic, and an unlisted one never does, while agents come and go', async (t) => {
  const proxy = await FaultyProxy.open(t, world.port);
  const hosts = Array.from({ length: 8 }, () => newHost());
  let isStopped = false;
  const counts = { listed: 0, served: 0, unlisted: 0, cycles: 0 };
  const live = async (domain: string, at: number): Promise<void> => {
    while (!isStopped) {
      const agent = await world.agent([{ proto: 'https', addr: port, domain }], {
        serverAddr: proxy.addr,
        timings: QUICK_TRIES,
      });
      await sleep(150 + 40 * at);
      await agent.close();
      counts.cycles += 1;
      await sleep(100);
    }
  };
  const living = hosts.map(live);
  const wrong: string[] = [];
  const began = performance.now();
  const isEnough = () => counts.listed > 20 && counts.unlisted > 0 && counts.cycles > 20;
  // A busy machine needs longer to see enough.
  while (performance.now() - began < LEAST_MS || (!isEnough() && performance.now() - began < 60_000)) {
    const before = await tunnels();
    const answers = await Promise.all(
      hosts.map(async (host) => ({ host, status: await world.edge.status(host).catch(() => 0) })),
    );
    const later = await tunnels();
    for (const { host, status } of answers) {
      // Listed as the same tunnel before and after the request: then it was listed during it.
      const first = before.find((tunnel) => new URL(tunnel.public_url).hostname === host);
      const second = later.find((tunnel) => new URL(tunnel.public_url).hostname === host);
      const isListed = first !== undefined && first.id === second?.id;
      if (isListed) counts.listed += 1;
      if (first === undefined && second === undefined) counts.unlisted += 1;
      if (status === 200) counts.served += 1;
      if (isListed && status !== 200) wrong.push(`${host} was listed and answered ${status}`);
    }
  }
  isStopped = true;
  await Promise.all(living);
  t.diagnostic(JSON.stringify(counts));
  assert.ok(isEnough(), JSON.stringify(counts));
  assert.deepEqual(wrong, []);
  assert.equal((await listed(world)).size, 0);
  for (const host of hosts) assert.notEqual(await world.edge.status(host).catch(() => 0), 200, 'unlisted, and served');
});

test('a cleanly closed tunnel is unlisted and gets no traffic by the time that close resolves', async () => {
  for (let round = 0; round < (isLong ? 5 : 2); round += 1) {
    const agent = await world.agent([
      { proto: 'https', addr: port },
      { labels: { round: String(round) }, addr: port },
    ]);
    const host = hostOf(agent);
    assert.equal(await world.edge.status(host), 200);
    assert.equal((await listed(world)).size, 2);
    await agent.close();
    assert.deepEqual([...(await listed(world))], []);
    assert.notEqual(await world.edge.status(host).catch(() => 0), 200);
    const { tunnel_sessions: sessions } = await world.edge.api('GET', '/tunnel_sessions');
    assert.deepEqual(sessions, []);
    const { endpoints } = await world.edge.api('GET', '/endpoints');
    assert.deepEqual(
      endpoints.filter(({ type }: { type: string }) => type === 'ephemeral'),
      [],
    );
  }
});

test('an agent whose connections were cut is unlisted immediately, and listed again under the same id', async (t) => {
  const proxy = await FaultyProxy.open(t, world.port);
  const agent = await world.agent([{ proto: 'https', addr: port }], { serverAddr: proxy.addr, timings: QUICK_TRIES });
  const id = agent.tunnels[0]?.id ?? '';
  proxy.isDown = true;
  for (const connection of proxy.open) connection.cut();
  const goneMs = await eventually('it is not listed', async () => !(await listed(world)).has(id));
  t.diagnostic(`unlisted after ${Math.round(goneMs)} ms`);
  assert.equal(await world.edge.status(hostOf(agent)), 503);
  const { tunnel_sessions: gone } = await world.edge.api('GET', '/tunnel_sessions');
  assert.deepEqual(gone, []);
  proxy.isDown = false;
  await eventually('it is listed again', async () => (await listed(world)).has(id));
  assert.equal(await world.edge.status(hostOf(agent)), 200);
  const { tunnel_sessions: back } = await world.edge.api('GET', '/tunnel_sessions');
  assert.deepEqual(
    back.map((session: { id: string }) => session.id),
    [agent.sessionId],
  );
  await agent.close();
});
