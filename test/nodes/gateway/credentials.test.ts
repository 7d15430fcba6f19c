import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { eventually } from '../../tunnel/support/fault-world.ts';
import { RawAgent } from '../../tunnel/support/raw-agent.ts';
import { type ClusterNode, GatewayCluster } from '../support/gateway-cluster.ts';
import { sharedStore } from '../support/shared-store.ts';

const store = await sharedStore({ after });

const cluster = await GatewayCluster.open({ after }, store, 2);
const [one, two] = cluster.nodes as [ClusterNode, ClusterNode];

suite('credentials of agents on several nodes', () => {
  test('a credential that another node has just created is accepted', async () => {
    cluster.created.add('cr_new-a');
    const agent = cluster.agent(two, { authtoken: 'new-a', connections: 1 });
    await agent.ready;
    await agent.close();
    const unknown = cluster.agent(two, { authtoken: 'new-nobody', connections: 1 });
    await assert.rejects(unknown.ready, { code: 'ERR_POSTERN_AGENT_TOKEN' });
  });

  test('a token that cannot be checked without the database is not refused for good', async () => {
    two.isStoreAway = true;
    const agent = cluster.agent(two, { authtoken: 'new-b', connections: 1 });
    const code = await new Promise((resolve) => {
      agent.on('status', (status) => status.code !== null && resolve(status.code));
    });
    assert.equal(code, 'ERR_POSTERN_GATEWAY_STORE');
    cluster.created.add('cr_new-b');
    two.isStoreAway = false;
    await agent.ready;
    await agent.close();
  });

  test('a narrower acl ends tunnels on every node that has a connection of the agent', async () => {
    const token = 'narrowed';
    const first = await RawAgent.greeted({ ...cluster.dialled(one), token });
    const { session, secret } = await first.message('welcome');
    const second = await RawAgent.greeted(
      { ...cluster.dialled(two), token },
      { join: { session, secret: secret ?? '' } },
    );
    const bind = async (ref: number, label: string): Promise<string> => {
      const bound = await second.bind({ ref, proto: 'https', domain: `${label}.gateway.test` });
      assert.ok(bound.t === 'bound');
      return bound.id;
    };
    const [kept, lost] = [await bind(1, 'kept'), await bind(2, 'narrowed')];
    await eventually('both nodes serve both', () => [kept, lost].every((id) => cluster.serving(id).length === 2));
    cluster.narrowCredential(`cr_${token}`, ['bind:kept.gateway.test']);
    const { code, retry } = await first.message('unbound');
    assert.deepEqual([code, retry], ['ERR_POSTERN_TUNNEL_ACL', false]);
    await eventually('no node serves it', () => cluster.serving(lost).length === 0);
    await eventually('its name is free', async () => {
      return (await store.nodes.getClaim('name narrowed.gateway.test')) === null;
    });
    assert.deepEqual(cluster.serving(kept), [one.id, two.id]);
    cluster.deleteCredential(`cr_${token}`);
    for (const agent of [first, second]) {
      await agent.message('refused');
      agent.destroy();
    }
  });

  for (const isLinked of [true, false]) {
    test(`the end of a credential cuts its agent on the other node too, ${isLinked ? 'over' : 'without'} the link`, async () => {
      const token = `revoked-${isLinked}`;
      const first = await RawAgent.greeted({ ...cluster.dialled(one), token });
      const { session, secret } = await first.message('welcome');
      const join = { session, secret: secret ?? '' };
      const second = await RawAgent.greeted({ ...cluster.dialled(two), token }, { join });
      const bound = await second.bind({ proto: 'https', domain: `${token}.gateway.test` });
      assert.equal(bound.t, 'bound');
      const id = bound.t === 'bound' ? bound.id : '';
      await eventually('both nodes serve it', () => cluster.serving(id).length === 2);
      if (!isLinked) cluster.network.isolate(two.id);
      cluster.deleteCredential(`cr_${token}`);
      for (const agent of [first, second]) {
        const { code, retry } = await agent.message('refused');
        assert.deepEqual([code, retry], ['ERR_POSTERN_AGENT_REVOKED', false]);
        agent.destroy();
      }
      assert.deepEqual(cluster.serving(id), []);
      cluster.network.rejoin(two.id);
      await eventually('the name is free', async () => {
        return (await store.nodes.getClaim(`name ${token}.gateway.test`)) === null;
      });
    });
  }
});
