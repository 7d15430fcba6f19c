import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { type Listed, OnlineListing } from '../../../src/tunnel/nodes/directory/online-listing.ts';
import { announcedSession, labelled, published } from '../support/announced.ts';
import { directoryNode } from '../support/directory-node.ts';
import { FakeNetwork } from '../support/fake-network.ts';

async function newWorld() {
  const network = new FakeNetwork();
  const deleted = new Set<string>();
  const nodes = ['nd_a', 'nd_b', 'nd_c'].map((id) => {
    const node = directoryNode(network, id);
    const listing = new OnlineListing((credentialId) => !deleted.has(credentialId));
    node.directory.follow(listing);
    return { ...node, listing };
  });
  const [a, b, c] = nodes as [(typeof nodes)[0], (typeof nodes)[0], (typeof nodes)[0]];
  for (const [one, other] of [
    [a, b],
    [a, c],
    [b, c],
  ] as const) {
    network.link(one.id, other.id);
  }
  // One session on two nodes, one on each of the others.
  for (const { announcer } of [a, b]) {
    announcer.putSession(announcedSession('ts_1', a.id));
    announcer.putTunnel(published('tn_1', 'ts_1', { host: 'one.example' }));
    announcer.putTunnel(labelled('tn_4', 'ts_1', { app: 'shop' }));
  }
  b.announcer.putSession(announcedSession('ts_2', b.id, { credentialId: 'cr_2' }));
  b.announcer.putTunnel(published('tn_3', 'ts_2', { host: 'two.example' }));
  c.announcer.putSession(announcedSession('ts_3', c.id));
  c.announcer.putTunnel(published('tn_2', 'ts_3', { proto: 'tcp', port: 20_001 }));
  await network.settle();
  return { network, deleted, nodes, a, b, c };
}

const ALL = { beforeId: null, limit: 100 };
const idsOf = (listed: readonly Listed[]): readonly string[] => listed.map(({ id }) => id);

suite('lists of what is online', () => {
  test('are the same on every node, newest first, each object once', async () => {
    const { nodes } = await newWorld();
    for (const { listing, id } of nodes) {
      assert.deepEqual(idsOf(listing.list('tunnel_session', ALL)), ['ts_3', 'ts_2', 'ts_1'], id);
      assert.deepEqual(idsOf(listing.list('tunnel', ALL)), ['tn_4', 'tn_3', 'tn_2', 'tn_1'], id);
      assert.deepEqual(idsOf(listing.list('endpoint', ALL)), ['ep_3', 'ep_2', 'ep_1'], id);
      assert.deepEqual(listing.get('tunnel', 'tn_4'), {
        ...{ id: 'tn_4', parent: 'ts_1', credentialId: 'cr_1', doc: { labels: { app: 'shop' } } },
      });
      assert.deepEqual(listing.get('endpoint', 'ep_2'), {
        ...{ id: 'ep_2', parent: 'tn_2', credentialId: 'cr_1', doc: { tunnel_id: 'tn_2' } },
      });
      assert.equal(listing.get('tunnel', 'tn_9'), null);
    }
  });

  test('have stable pages, also while objects come and go', async () => {
    const { network, a, b } = await newWorld();
    const first = a.listing.list('tunnel', { beforeId: null, limit: 2 });
    assert.deepEqual(idsOf(first), ['tn_4', 'tn_3']);
    b.announcer.putTunnel(labelled('tn_5', 'ts_2', { app: 'new' }));
    b.announcer.removeTunnel('tn_3');
    await network.settle();
    assert.deepEqual(idsOf(a.listing.list('tunnel', { beforeId: 'tn_3', limit: 2 })), ['tn_2', 'tn_1']);
    assert.deepEqual(idsOf(a.listing.list('tunnel', { beforeId: 'tn_1', limit: 2 })), []);
  });

  test('leave out a node that is lost, at once, and keep what another one still reaches', async () => {
    const { network, c, a, b } = await newWorld();
    network.unlink(c.id, a.id);
    assert.deepEqual(
      idsOf(c.listing.list('tunnel', ALL)),
      ['tn_4', 'tn_3', 'tn_2', 'tn_1'],
      'b reaches the session of a',
    );
    network.unlink(c.id, b.id);
    assert.deepEqual(idsOf(c.listing.list('tunnel', ALL)), ['tn_2']);
    assert.deepEqual(idsOf(c.listing.list('tunnel_session', ALL)), ['ts_3']);
  });

  test('leave out what belongs to a deleted credential, on every node', async () => {
    const { nodes, deleted } = await newWorld();
    deleted.add('cr_2');
    for (const { listing } of nodes) {
      assert.deepEqual(idsOf(listing.list('tunnel_session', ALL)), ['ts_3', 'ts_1']);
      assert.deepEqual(idsOf(listing.list('tunnel', { beforeId: null, limit: 2 })), ['tn_4', 'tn_2']);
      assert.equal(listing.get('endpoint', 'ep_3'), null);
    }
  });
});
