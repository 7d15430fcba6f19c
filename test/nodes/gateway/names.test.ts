import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import type { AgentHandle } from '../../../src/tunnel/agent/index.ts';
import { eventually } from '../../tunnel/support/fault-world.ts';
import { RawAgent } from '../../tunnel/support/raw-agent.ts';
import { GatewayCluster } from '../support/gateway-cluster.ts';
import { sharedStore } from '../support/shared-store.ts';

const store = await sharedStore({ after });
const ROUNDS = process.env['POSTERN_TEST_LONG'] === '1' ? 12 : 3;

const tunnelOf = (domain: string) => ({ proto: 'https' as const, addr: 1, domain });

suite('names across nodes', () => {
  test('a holder that answers keeps its name, and a newcomer on another node is refused by name', async (t) => {
    const cluster = await GatewayCluster.open(t, store, 2);
    const [one, two] = cluster.nodes;
    assert.ok(one && two);
    const domain = 'kept.gateway.test';
    const holder = cluster.agent(one, { tunnels: [tunnelOf(domain)], connections: 1 });
    await holder.ready;
    for (const [authtoken, problem] of [
      [
        'token',
        new RegExp(`${domain} is held by another agent with this credential \\(session ${holder.sessionId}\\)`),
      ],
      ['other', /is held by an agent with another credential: use another name/],
    ] as const) {
      const newcomer = cluster.agent(two, { tunnels: [tunnelOf(domain)], connections: 1, authtoken });
      await newcomer.ready;
      assert.equal(newcomer.tunnels[0]?.status, 'waiting');
      assert.match(newcomer.tunnels[0]?.problem ?? '', problem);
      await newcomer.close();
    }
    assert.deepEqual(two.gateway.namesUnder('*.gateway.test'), [domain], 'an edge there must not take it');
    const next = cluster.agent(two, { tunnels: [tunnelOf(domain)], connections: 1 });
    await next.ready;
    await holder.close();
    await eventually('the newcomer gets it', () => next.tunnels[0]?.status === 'online');
    assert.deepEqual([...cluster.owners(domain)], [next.sessionId]);
  });

  test('a name of a node that died is taken over within three seconds', async (t) => {
    const cluster = await GatewayCluster.open(t, store, 2);
    const [one, two] = cluster.nodes;
    assert.ok(one && two);
    const domain = 'dead.gateway.test';
    const holder = cluster.agent(one, { tunnels: [tunnelOf(domain)], connections: 1 });
    await holder.ready;
    const abandoned = holder.sessionId;
    one.kill();
    const beganMs = performance.now();
    const newcomer = cluster.agent(two, { tunnels: [tunnelOf(domain)], connections: 1 });
    await eventually(
      'one of both has it',
      () => newcomer.tunnels[0]?.status === 'online' || cluster.serving(holder.tunnels[0]?.id).includes(two.id),
    );
    t.diagnostic(`after ${Math.round(performance.now() - beganMs)} ms`);
    assert.equal(cluster.owners(domain).size, 1);
    assert.ok(abandoned !== null);
  });

  test('a port of an agent that was killed goes to its next agent on another node', async (t) => {
    const cluster = await GatewayCluster.open(t, store, 2);
    const [one, two] = cluster.nodes;
    assert.ok(one && two);
    const tunnel = { proto: 'tcp' as const, addr: 1, port: 20_077 };
    const killed = await RawAgent.greeted(cluster.dialled(one));
    assert.equal((await killed.bind({ proto: 'tcp', port: tunnel.port })).t, 'bound');
    const alive = cluster.agent(two, { tunnels: [tunnel], connections: 1 });
    await alive.ready;
    assert.match(alive.tunnels[0]?.problem ?? '', /is in use/, 'its agent answers');
    await alive.close();
    killed.destroy();
    const next = cluster.agent(two, { tunnels: [tunnel], connections: 1 });
    const beganMs = performance.now();
    await eventually('the next one has it', () => next.tunnels[0]?.status === 'online');
    t.diagnostic(`after ${Math.round(performance.now() - beganMs)} ms`);
    assert.equal((await store.nodes.getClaim('port 20077'))?.sessionId, next.sessionId);
  });

  test('agents on three nodes race for few names: never two owners, at the end one each', async (t) => {
    const cluster = await GatewayCluster.open(t, store, 3);
    const domains = ['a', 'b', 'c', 'd'].map((name) => `race-${name}.gateway.test`);
    const owners = new Map(domains.map((domain) => [domain, 0]));
    const conflicts: string[] = [];
    let samples = 0;
    const sampling = setInterval(() => {
      samples += 1;
      for (const domain of domains) {
        const now = cluster.owners(domain);
        if (now.size > 1) conflicts.push(`${domain}: ${[...now].join(', ')}`);
        owners.set(domain, Math.max(owners.get(domain) ?? 0, now.size));
      }
    }, 1);
    t.after(() => clearInterval(sampling));
    const racers: AgentHandle[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const started = cluster.nodes.flatMap((node) =>
        Array.from({ length: 4 }, () => cluster.agent(node, { tunnels: domains.map(tunnelOf), connections: 1 })),
      );
      racers.push(...started);
      await Promise.all(started.map(({ ready }) => ready.catch(() => {})));
      // The present owners leave, some of them without a farewell.
      const winners = racers.filter(({ tunnels }) => tunnels.some(({ status }) => status === 'online'));
      await Promise.all(winners.slice(0, 3).map((agent) => agent.close()));
      cluster.nodes[round % 3]?.cutAgents();
    }
    await eventually('every name has one owner, the one that the store names', async () => {
      const claims = await Promise.all(domains.map((domain) => store.nodes.getClaim(`name ${domain}`)));
      return domains.every((domain, at) => [...cluster.owners(domain)].join() === claims[at]?.sessionId);
    });
    clearInterval(sampling);
    assert.deepEqual(conflicts, []);
    t.diagnostic(`${samples} samples`);
    await Promise.all(racers.map((agent) => agent.close()));
  });
});
