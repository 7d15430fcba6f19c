import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { newHost } from '../../support/edge-world.ts';
import { TunnelWorld } from '../../support/tunnel-world.ts';
import { eventually, listed, localHttp } from '../support/fault-world.ts';
import { FaultyProxy } from '../support/faulty-proxy.ts';
import { type AgentProcess, startAgents } from '../support/start-agents.ts';

const LEASE_MS = 15_000;
const world = await TunnelWorld.open({ after });
const seen = new Map<string, number>();
const port = await localHttp({ after }, (request, response) => {
  seen.set(request.url ?? '', (seen.get(request.url ?? '') ?? 0) + 1);
  response.end('here');
});
const options = (fields: object = {}) => {
  return { serverAddr: `127.0.0.1:${world.port}`, ca: world.edge.ca, token: world.token, port, ...fields };
};

async function killed(agents: AgentProcess): Promise<void> {
  const exited = once(agents.child, 'exit');
  agents.kill('SIGKILL');
  await exited;
}

suite('agents as processes', { concurrency: 3 }, () => {
  test('kill -9 under load, and another agent that requests the same name: the gap', async (t) => {
    const domain = newHost();
    const first = await startAgents(t, options({ domain }));
    const failures: number[] = [];
    let lastOkMs = 0;
    let gapMs = 0;
    let isStopped = false;
    const ask = async (worker: number): Promise<void> => {
      for (let at = 0; !isStopped; at += 1) {
        const isPost = at % 2 === 1;
        const path = `/kill-${isPost ? 'post' : 'get'}-${worker}-${at}`;
        const asked = world.edge.status(domain, path, isPost ? { method: 'POST', body: 'x' } : {});
        // 421 and a rejected handshake: for a moment nobody holds the name.
        const status = await asked.catch(() => 421);
        if (status === 200) {
          const nowMs = performance.now();
          gapMs = Math.max(gapMs, lastOkMs === 0 ? 0 : nowMs - lastOkMs);
          lastOkMs = nowMs;
        } else failures.push(status);
      }
    };
    const workers = Array.from({ length: 4 }, (_, worker) => ask(worker));
    await sleep(500);
    const killedAtMs = performance.now();
    await killed(first);
    const second = await world.agent([{ proto: 'https', addr: port, domain }]);
    const boundMs = performance.now() - killedAtMs;
    await eventually('it is served', async () => (await world.edge.status(domain)) === 200);
    isStopped = true;
    await Promise.all(workers);
    t.diagnostic(
      `gap ${Math.round(gapMs)} ms, bound ${Math.round(boundMs)} ms after the kill, ${failures.length} requests failed`,
    );
    assert.deepEqual(
      failures.filter((status) => status < 500 && status !== 421),
      [],
    );
    const twice = [...seen].filter(([path, count]) => path.startsWith('/kill-post') && count > 1);
    assert.deepEqual(twice, []);
    assert.ok(gapMs < LEASE_MS, `${gapMs}`);
    await second.close();
  });

  test('a killed agent is no longer listed, immediately if its machine could still report it', async (t) => {
    const agents = await startAgents(t, options());
    const id = agents.id();
    assert.ok((await listed(world)).has(id));
    await killed(agents);
    const goneMs = await eventually('it is not listed', async () => !(await listed(world)).has(id));
    t.diagnostic(`unlisted ${Math.round(goneMs)} ms after kill -9`);
    assert.equal((await world.edge.world.api('GET', `/tunnels/${id}`)).status, 404);
  });

  test('an agent whose machine vanished is no longer listed after the lease', async (t) => {
    const proxy = await FaultyProxy.open(t, world.port);
    const agents = await startAgents(t, options({ serverAddr: proxy.addr }));
    const id = agents.id();
    for (const connection of proxy.open) connection.drop();
    proxy.isDown = true;
    agents.kill('SIGKILL');
    const goneMs = await eventually('it is not listed', async () => !(await listed(world)).has(id), 60_000);
    t.diagnostic(`unlisted after ${Math.round(goneMs)} ms`);
    assert.ok(goneMs < LEASE_MS + 5_000, `${goneMs}`);
  });

  test('another agent takes over the name of a dead one after probing it for 2 s', async (t) => {
    const proxy = await FaultyProxy.open(t, world.port);
    const domain = newHost();
    const agents = await startAgents(t, options({ serverAddr: proxy.addr, domain }));
    for (const connection of proxy.open) connection.drop();
    proxy.isDown = true;
    const began = performance.now();
    const second = await world.agent([{ proto: 'https', addr: port, domain }]);
    const tookMs = performance.now() - began;
    assert.equal(await world.edge.status(domain), 200);
    t.diagnostic(`taken over after ${Math.round(tookMs)} ms`);
    assert.ok(tookMs >= 1_900, 'the holder was not asked');
    assert.ok(!(await listed(world)).has(agents.id()));
    await second.close();
  });

  test('an agent stopped for less than the deadline continues, and reconnects by itself after longer', async (t) => {
    const agents = await startAgents(t, options());
    const host = new URL(agents.url()).hostname;
    const id = agents.id();
    agents.kill('SIGSTOP');
    const waiting = world.edge.ask(host);
    await sleep(3_000);
    agents.kill('SIGCONT');
    assert.equal((await waiting).status, 200);
    assert.equal(agents.messages.filter(({ type }) => type === 'bound').length, 1);
    agents.kill('SIGSTOP');
    const cut = world.edge.ask(host);
    await eventually('it is not listed', async () => !(await listed(world)).has(id), 60_000);
    assert.ok((await cut).status >= 500);
    agents.kill('SIGCONT');
    const backMs = await eventually('it is served', async () => (await world.edge.status(host)) === 200);
    t.diagnostic(`served ${Math.round(backMs)} ms after SIGCONT`);
    assert.ok((await listed(world)).has(id), 'it is the same tunnel');
  });
});
