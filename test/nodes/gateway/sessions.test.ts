import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { eventually } from '../../tunnel/support/fault-world.ts';
import { GatewayCluster } from '../support/gateway-cluster.ts';
import { sharedStore } from '../support/shared-store.ts';

const store = await sharedStore({ after });

suite('sessions on several nodes', () => {
  test('an agent with connections on two nodes has one session, served from both', async (t) => {
    const cluster = await GatewayCluster.open(t, store, 2);
    const [one, two] = cluster.nodes;
    assert.ok(one && two);
    const agent = cluster.agent(one, { tunnels: [{ proto: 'https', addr: 1, domain: 'both.gateway.test' }] });
    await agent.ready;
    const id = agent.tunnels[0]?.id;
    await eventually('both nodes serve it', () => cluster.serving(id).length === 2);
    assert.deepEqual(
      [...two.announced.sessions.values()].map(({ homeNodeId }) => homeNodeId),
      [one.id],
    );
    assert.equal(two.published.size, 1);
    const claims = await store.nodes.claimsOf(one.id);
    assert.deepEqual(
      claims.map(({ key }) => key),
      ['name both.gateway.test'],
    );
    await agent.close();
    await eventually('nothing is left', async () => (await store.nodes.sessionsOf(one.id)).length === 0);
    assert.deepEqual([one.table.size, two.table.size, two.published.size], [0, 0, 0]);
    assert.deepEqual(await store.nodes.claimsOf(one.id), []);
  });

  test('a session survives kill -9 of its home: the other node takes it over, and the agent notices nothing', async (t) => {
    const cluster = await GatewayCluster.open(t, store, 3);
    const [one, two, three] = cluster.nodes;
    assert.ok(one && two && three);
    const tunnels = [
      { proto: 'https' as const, addr: 1, domain: 'kill.gateway.test' },
      { labels: { app: 'kill' }, addr: 1 },
    ];
    const agent = cluster.agent(one, { tunnels });
    await agent.ready;
    const [named, labelled] = agent.tunnels.map(({ id }) => id);
    await eventually('two nodes serve it', () => [named, labelled].every((id) => cluster.serving(id).length === 2));
    // The second node serves it a moment before the agent reads its welcome, and without that the agent has one
    // connection.
    await eventually('the agent knows that it is on two nodes', () => agent.nodes.length === 2);
    const holder = cluster.nodes.find(({ id }) => id !== one.id && cluster.serving(named).includes(id));
    assert.ok(holder);
    const statuses: string[] = [];
    agent.on('status', ({ status }) => statuses.push(status));
    const ids = agent.tunnels.map(({ id }) => id);
    one.kill();
    assert.ok(cluster.serving(labelled).includes(holder.id), 'labels need no right');
    const tookMs = await eventually('the other node decides', () =>
      [...holder.announced.sessions.values()].some(({ homeNodeId }) => homeNodeId === holder.id),
    );
    t.diagnostic(`taken over after ${Math.round(tookMs)} ms`);
    await eventually('it is served', () => cluster.serving(named).includes(holder.id));
    assert.deepEqual(statuses, [], 'the agent noticed');
    assert.deepEqual(
      agent.tunnels.map(({ id }) => id),
      ids,
    );
    assert.deepEqual(
      (await store.nodes.claimsOf(holder.id)).map(({ key }) => key),
      ['name kill.gateway.test'],
    );
    await eventually('the agent is on two nodes again', () => cluster.serving(named).length === 2);
  });

  test('an agent whose only node died resumes its session elsewhere, with the same ids and names', async (t) => {
    const cluster = await GatewayCluster.open(t, store, 2);
    const [one, two] = cluster.nodes;
    assert.ok(one && two);
    const tunnels = [
      { proto: 'https' as const, addr: 1, domain: 'alone.gateway.test' },
      { proto: 'tcp' as const, addr: 1 },
    ];
    const agent = cluster.agent(one, { tunnels, connections: 1 });
    await agent.ready;
    const before = agent.tunnels.map(({ id, publicUrl: url }) => [id, url]);
    const session = agent.sessionId;
    await eventually('its tunnels are stored', async () => {
      const stored = await store.nodes.getSession(session ?? '');
      return (stored?.doc['tunnels'] as unknown[] | undefined)?.length === 2;
    });
    one.kill();
    await eventually('it is served elsewhere', () => cluster.serving(before[0]?.[0]).includes(two.id));
    await eventually('all are bound', () => agent.tunnels.every(({ status }) => status === 'online'));
    assert.equal(agent.sessionId, session);
    assert.deepEqual(
      agent.tunnels.map(({ id, publicUrl: url }) => [id, url]),
      before,
    );
    assert.deepEqual(await store.nodes.claimsOf(one.id), []);
  });

  test('an agent that lost its connections resumes through any node, also without the database', async (t) => {
    const cluster = await GatewayCluster.open(t, store, 2);
    const [one, two] = cluster.nodes;
    assert.ok(one && two);
    const agent = cluster.agent(one, { tunnels: [{ proto: 'https', addr: 1, domain: 'away.gateway.test' }] });
    await agent.ready;
    const { sessionId: session } = agent;
    const id = agent.tunnels[0]?.id;
    await eventually('both serve it', () => cluster.serving(id).length === 2);
    for (const node of cluster.nodes) node.isStoreAway = true;
    for (const node of cluster.nodes) node.cutAgents();
    await eventually('it is back', () => agent.status === 'online' && agent.tunnels[0]?.status === 'online');
    assert.equal(agent.sessionId, session);
    assert.equal(agent.tunnels[0]?.id, id);
    const late = cluster.agent(two, { tunnels: [{ proto: 'https', addr: 1 }] });
    const reason = await new Promise<string>((resolve) => {
      late.on('status', ({ reason }) => {
        if (reason !== null && reason !== undefined) resolve(reason);
      });
    });
    assert.match(reason, /database of the server cannot be reached/);
    for (const node of cluster.nodes) node.isStoreAway = false;
    await late.ready;
    await eventually('both serve it again', () => cluster.serving(id).length === 2);
  });
});
