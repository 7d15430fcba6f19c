import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { eventually } from '../../tunnel/support/fault-world.ts';
import { GatewayCluster } from '../support/gateway-cluster.ts';
import { sharedStore } from '../support/shared-store.ts';

const store = await sharedStore({ after });

const tunnelOf = (domain: string) => ({ proto: 'https' as const, addr: 1, domain });

suite('sessions that move', () => {
  test('a node that sends its agents away hands their sessions over, with names and ids', async (t) => {
    const cluster = await GatewayCluster.open(t, store, 2);
    const [one, two] = cluster.nodes;
    assert.ok(one && two);
    const agent = cluster.agent(one, { tunnels: [tunnelOf('moved.gateway.test')] });
    await agent.ready;
    const { sessionId } = agent;
    const id = agent.tunnels[0]?.id;
    const statuses: string[] = [];
    agent.on('status', ({ status }) => statuses.push(status));
    one.gateway.sendAway();
    await eventually('no session is left', () => one.gateway.counts.sessions === 0);
    await eventually('the other node serves it', () => cluster.serving(id).includes(two.id));
    assert.equal((await store.nodes.getSession(sessionId ?? ''))?.nodeId, two.id);
    assert.deepEqual(
      (await store.nodes.claimsOf(two.id)).map(({ key }) => key),
      ['name moved.gateway.test'],
    );
    await one.gateway.drain(1_000);
    await eventually('only the other node serves it', () => cluster.serving(id).join() === two.id);
    assert.deepEqual(statuses, [], 'the agent noticed');
    assert.equal(agent.sessionId, sessionId);
    assert.equal(agent.tunnels[0]?.id, id);
  });

  test('binds, unbinds and commands reach the home through another node, each once although answers are lost', async (t) => {
    const cluster = await GatewayCluster.open(t, store, 2);
    const [one, two] = cluster.nodes;
    assert.ok(one && two);
    // The agent's first connection is on the second node, and its session's home on the first.
    const tunnels = Array.from({ length: 20 }, (_each, at) => tunnelOf(`lost-${at}.gateway.test`));
    for (let lost = 0; lost < 3; lost += 1) cluster.network.lostAnswers.push('session.send', 'session.message');
    const agent = cluster.agent(one, { tunnels });
    await agent.ready;
    await eventually('all are served by both', () => agent.tunnels.every(({ id }) => cluster.serving(id).length === 2));
    assert.equal((await store.nodes.claimsOf(one.id)).length, 20);
    const commands: string[] = [];
    agent.on('command', ({ command }) => commands.push(command));
    assert.equal(await two.gateway.command(agent.sessionId ?? '', 'update'), 'accepted');
    assert.equal(await two.gateway.command('ts_none', 'stop'), 'unreachable');
    assert.deepEqual(commands, ['update']);
    await agent.close();
    await eventually('nothing is left', async () => (await store.nodes.claimsOf(one.id)).length === 0);
    assert.deepEqual([one.table.size, two.table.size], [0, 0]);
  });

  test('a home whose holder is not linked gives a name away only when the holder serves it no more', async (t) => {
    const cluster = await GatewayCluster.open(t, store, 2);
    const [one, two] = cluster.nodes;
    assert.ok(one && two);
    const agent = cluster.agent(one, { tunnels: [tunnelOf('waits.gateway.test')] });
    await agent.ready;
    const id = agent.tunnels[0]?.id;
    await eventually('both serve it', () => cluster.serving(id).length === 2);
    cluster.network.isolate(two.id);
    const tunnelsOfTwo = two.table.get(id ?? '');
    const closing = agent.close();
    let wasServedAfterwards = false;
    await eventually('the name is free', async () => {
      const isServed = (tunnelsOfTwo?.link() ?? null) !== null;
      const claim = await store.nodes.getClaim('name waits.gateway.test');
      if (claim === null && isServed && (tunnelsOfTwo?.link() ?? null) !== null) wasServedAfterwards = true;
      return claim === null;
    });
    await closing;
    assert.ok(!wasServedAfterwards, 'it was given away too early');
  });

  test('a holder without its home stops serving within the grant, and serves again with it', async (t) => {
    const cluster = await GatewayCluster.open(t, store, 2);
    const [one, two] = cluster.nodes;
    assert.ok(one && two);
    const domain = 'grant.gateway.test';
    const agent = cluster.agent(one, { tunnels: [tunnelOf(domain)] });
    await agent.ready;
    const id = agent.tunnels[0]?.id;
    await eventually('both serve it', () => cluster.serving(id).length === 2);
    cluster.network.isolate(two.id);
    const tookMs = await eventually('the holder stops', () => !cluster.serving(id).includes(two.id), 3_000);
    t.diagnostic(`the grant ended after ${Math.round(tookMs)} ms`);
    assert.ok(cluster.serving(id).includes(one.id), 'the home goes on');
    cluster.network.rejoin(two.id);
    await eventually('both serve it again', () => cluster.serving(id).length === 2);
  });

  test('a holder whose link to the home is broken serves on, while a third node reaches both', async (t) => {
    const cluster = await GatewayCluster.open(t, store, 3);
    const agent = cluster.agent(cluster.nodes[0] ?? assert.fail(), { tunnels: [tunnelOf('relayed.gateway.test')] });
    await agent.ready;
    const id = agent.tunnels[0]?.id;
    await eventually('two serve it', () => cluster.serving(id).length === 2);
    const [one, two] = cluster.serving(id) as [string, string];
    cluster.network.cut(one, two);
    cluster.network.cut(two, one);
    const longerThanGrantsMs = 4_000;
    const began = performance.now();
    await eventually('time has passed', () => {
      assert.deepEqual(cluster.serving(id), [one, two]);
      return performance.now() - began > longerThanGrantsMs;
    });
    cluster.network.isolate(two);
    await eventually('one of them stops', () => cluster.serving(id).length === 1);
  });

  test('a node whose lease expired ends what others took, and claims again what is free', async (t) => {
    const cluster = await GatewayCluster.open(t, store, 2);
    const [one, two] = cluster.nodes;
    assert.ok(one && two);
    const [taken, free] = ['taken.gateway.test', 'free.gateway.test'];
    const agent = cluster.agent(one, { tunnels: [tunnelOf(taken ?? ''), tunnelOf(free ?? '')], connections: 1 });
    await agent.ready;
    // As a process that is stopped for a while: nobody hears from it, and it hears nobody.
    one.membership.isPaused = true;
    cluster.network.isolate(one.id);
    await eventually('it serves no name', () => cluster.owners(taken ?? '').size === 0 && !one.membership.mayServe());
    const newcomer = cluster.agent(two, { tunnels: [tunnelOf(taken ?? '')], connections: 1 });
    await eventually('another has the name', () => newcomer.tunnels[0]?.status === 'online');
    const conflicts: string[] = [];
    const sampling = setInterval(() => {
      if (cluster.owners(taken ?? '').size > 1) conflicts.push('two owners');
    }, 1);
    t.after(() => clearInterval(sampling));
    cluster.network.rejoin(one.id);
    one.membership.isPaused = false;
    await eventually('the lost name is refused', () => agent.tunnels[0]?.status === 'waiting');
    await eventually('the other one is served', () => cluster.serving(agent.tunnels[1]?.id).includes(one.id));
    clearInterval(sampling);
    assert.deepEqual(conflicts, []);
    assert.deepEqual([...cluster.owners(taken ?? '')], [newcomer.sessionId]);
  });
});
