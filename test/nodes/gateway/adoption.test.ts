import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { eventually } from '../../tunnel/support/fault-world.ts';
import { RawAgent } from '../../tunnel/support/raw-agent.ts';
import { GatewayCluster } from '../support/gateway-cluster.ts';
import { sharedStore } from '../support/shared-store.ts';

const store = await sharedStore({ after });

suite('sessions whose home cannot be reached', () => {
  test('two holders adopt a session at once: one becomes its home, and both keep their connections', async (t) => {
    const cluster = await GatewayCluster.open(t, store, 3);
    const [one, two, three] = cluster.nodes;
    assert.ok(one && two && three);
    const first = await RawAgent.greeted(cluster.dialled(one));
    const { session, secret } = await first.message('welcome');
    const join = { session, secret: secret ?? '' };
    const held: RawAgent[] = [];
    for (const node of [two, three]) {
      const agent = await RawAgent.greeted(cluster.dialled(node), { join });
      t.after(async () => agent.destroy());
      held.push(agent);
    }
    const domain = 'adopted.gateway.test';
    const bound = await first.bind({ proto: 'https', domain });
    const id = bound.t === 'bound' ? bound.id : '';
    await eventually('all three serve it', () => cluster.serving(id).length === 3);
    const before = await store.nodes.getSession(session);
    let most = 0;
    const sample = (): void => {
      most = Math.max(most, cluster.owners(domain).size);
    };
    const sampling = setInterval(sample, 1);
    t.after(() => clearInterval(sampling));
    one.kill();
    await eventually('both serve it', () => cluster.serving(id).length === 2);
    const isHome = (): boolean[] => [two, three].map(({ gateway }) => gateway.counts.sessions === 1);
    await eventually('one is the home', () => isHome().filter(Boolean).length === 1);
    const stored = await store.nodes.getSession(session);
    assert.ok((stored?.epoch ?? 0) > (before?.epoch ?? 0));
    assert.equal(stored?.nodeId, [two, three][isHome().indexOf(true)]?.id);
    // The home carries out requests of both connections.
    for (const [at, agent] of held.entries()) {
      const answer = await agent.bind({ proto: 'https', domain: `adopted-${at}.gateway.test`, ref: 10 + at });
      assert.equal(answer.t, 'bound');
      assert.equal(agent.socket.destroyed, false);
    }
    clearInterval(sampling);
    sample();
    assert.equal(most, 1, 'never two owners');
  });

  test('a holder passes on what its agent reports, and reports it still when it has become the home', async (t) => {
    const cluster = await GatewayCluster.open(t, store, 2);
    const [one, two] = cluster.nodes;
    assert.ok(one && two);
    const first = await RawAgent.greeted(cluster.dialled(one));
    const { session, secret } = await first.message('welcome');
    const held = await RawAgent.greeted(cluster.dialled(two), { join: { session, secret: secret ?? '' } });
    for (const agent of [first, held]) t.after(async () => agent.destroy());
    const reportedBy = ({ announced }: typeof one): string =>
      JSON.stringify(announced.sessions.get(session)?.doc['problems'] ?? []);
    held.say({ t: 'problems', problems: ['container web: no port'] });
    await eventually('the home knows it', () => reportedBy(one) === '["container web: no port"]');
    // What the home tells the holder next arrives later.
    const bound = await first.bind({ proto: 'https', domain: 'reporting.gateway.test' });
    const id = bound.t === 'bound' ? bound.id : '';
    await eventually('both serve it', () => cluster.serving(id).length === 2);
    one.kill();
    await eventually('the other reports it', () => reportedBy(two) === '["container web: no port"]');
    held.say({ t: 'problems', problems: [] });
    await eventually('it is over', () => reportedBy(two) === '[]');
  });

  for (const [direction, from, to] of [
    ['to', 1, 0],
    ['from', 0, 1],
  ] as const) {
    test(`a holder without the link ${direction} its home serves nothing that it may not have heard of`, async (t) => {
      const cluster = await GatewayCluster.open(t, store, 2);
      const ends = [cluster.nodes[from], cluster.nodes[to]];
      const [one, two] = cluster.nodes;
      assert.ok(one && two && ends[0] && ends[1]);
      const domain = `${direction}-home.gateway.test`;
      const first = await RawAgent.greeted(cluster.dialled(one));
      const { session, secret } = await first.message('welcome');
      const held = await RawAgent.greeted(cluster.dialled(two), { join: { session, secret: secret ?? '' } });
      const next = await RawAgent.greeted(cluster.dialled(one));
      for (const agent of [first, held, next]) t.after(async () => agent.destroy());
      const bound = await first.bind({ proto: 'https', domain });
      const id = bound.t === 'bound' ? bound.id : '';
      await eventually('both serve it', () => cluster.serving(id).length === 2);
      cluster.network.cut(ends[0].id, ends[1].id);
      let most = 0;
      const sample = (): void => {
        most = Math.max(most, cluster.owners(domain).size);
      };
      const sampling = setInterval(sample, 1);
      t.after(() => clearInterval(sampling));
      // The agent stays connected to both; its name goes to another agent while the holder may not be told.
      first.say({ t: 'unbind', ref: 0 });
      for (let ref = 1; ; ref += 1) {
        const answer = await next.bind({ proto: 'https', domain, ref });
        if (answer.t === 'bound') break;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      assert.deepEqual(cluster.serving(id), []);
      cluster.network.repair(ends[0].id, ends[1].id);
      await eventually('it alone is served', () => cluster.owners(domain).size === 1);
      clearInterval(sampling);
      sample();
      assert.equal(most, 1, 'never two owners');
    });
  }
});
