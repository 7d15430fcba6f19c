import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { MAX_CONNECTIONS_PER_SESSION } from '../../../src/tunnel/protocol/protocol.ts';
import { eventually } from '../../tunnel/support/fault-world.ts';
import { RawAgent } from '../../tunnel/support/raw-agent.ts';
import { type ClusterNode, GatewayCluster } from '../support/gateway-cluster.ts';
import { sharedStore } from '../support/shared-store.ts';

const store = await sharedStore({ after });

suite('answers that are lost with a connection or a link', () => {
  /** An agent with one name, whose only node dies. */
  async function orphan(cluster: GatewayCluster, victim: ClusterNode, domain: string) {
    const agent = await RawAgent.greeted(cluster.dialled(victim));
    const { session, secret } = await agent.message('welcome');
    const bound = await agent.bind({ proto: 'https', domain });
    assert.equal(bound.t, 'bound');
    await eventually('its tunnel is stored', async () => {
      const stored = await store.nodes.getSession(session);
      return (stored?.doc['tunnels'] as unknown[] | undefined)?.length === 1;
    });
    victim.kill();
    agent.destroy();
    return { resume: { session, secret: secret ?? '' }, id: bound.t === 'bound' ? bound.id : '' };
  }

  const nextTurn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));

  test('an agent whose welcome was lost resumes with the secret that it has, through another node', async (t) => {
    const cluster = await GatewayCluster.open(t, store, 3);
    const [one, two, three] = cluster.nodes;
    assert.ok(one && two && three);
    const { resume, id } = await orphan(cluster, one, 'lost-welcome.gateway.test');
    const unread = await RawAgent.greeted(cluster.dialled(two), { resume });
    assert.equal((await unread.message('welcome')).session, resume.session);
    unread.destroy();
    const agent = await RawAgent.greeted(cluster.dialled(three), { resume });
    t.after(async () => agent.destroy());
    const welcome = await agent.message('welcome');
    assert.deepEqual([welcome.session, welcome.resumed], [resume.session, true]);
    const bound = await agent.bind({ proto: 'https', domain: 'lost-welcome.gateway.test', id });
    assert.equal(bound.t === 'bound' && bound.id, id);
    // A bind shows that the agent has the new secret: the former one is void.
    const late = await RawAgent.greeted(cluster.dialled(three), { resume });
    t.after(async () => late.destroy());
    assert.equal((await late.message('welcome')).resumed, false);
  });

  test('an agent that is connected keeps a name that it has not bound again, any other gives it up', async (t) => {
    const cluster = await GatewayCluster.open(t, store, 3);
    const [one, two, three] = cluster.nodes;
    assert.ok(one && two && three);
    const domain = 'reserved.gateway.test';
    const { resume } = await orphan(cluster, one, domain);
    const resumed = await RawAgent.greeted(cluster.dialled(two), { resume });
    const newcomers: RawAgent[] = [];
    for (const node of [two, three]) {
      const newcomer = await RawAgent.greeted(cluster.dialled(node));
      t.after(async () => newcomer.destroy());
      newcomers.push(newcomer);
      const refused = await newcomer.bind({ proto: 'https', domain });
      assert.match(refused.t === 'unbound' ? refused.message : '', new RegExp(`\\(session ${resume.session}\\)`));
    }
    resumed.destroy();
    for (const [at, newcomer] of newcomers.entries()) {
      for (let tries = 1; ; tries += 1) {
        const answer = await newcomer.bind({ proto: 'https', domain, ref: tries });
        if (answer.t === 'bound') break;
        assert.match(answer.message, /held by another agent/, `newcomer ${at} waits for a name that nobody has`);
        await nextTurn();
      }
      assert.equal(cluster.owners(domain).size, 1);
      newcomer.destroy();
    }
  });

  test('a connection whose join was answered in vain does not count', async (t) => {
    const cluster = await GatewayCluster.open(t, store, 2);
    const [one, two] = cluster.nodes;
    assert.ok(one && two);
    const agent = await RawAgent.greeted(cluster.dialled(one));
    t.after(async () => agent.destroy());
    const { session, secret } = await agent.message('welcome');
    for (let round = 0; round <= MAX_CONNECTIONS_PER_SESSION; round += 1) {
      cluster.network.lostAnswers.push('session.join');
      const joined = await RawAgent.greeted(cluster.dialled(two), { join: { session, secret: secret ?? '' } });
      joined.destroy();
    }
  });
});
