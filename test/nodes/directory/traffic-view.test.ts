import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { announcedSession, labelled, published } from '../support/announced.ts';
import { type DirectoryNode, directoryNode } from '../support/directory-node.ts';
import { FakeNetwork, fakeLink } from '../support/fake-network.ts';

interface World {
  readonly network: FakeNetwork;
  readonly here: DirectoryNode;
  readonly home: DirectoryNode;
  readonly holder: DirectoryNode;
}

/** `nd_home` has a session with two tunnels; `nd_holder` has another connection of its agent. */
async function newWorld(): Promise<World> {
  const network = new FakeNetwork();
  const [here, home, holder] = ['nd_here', 'nd_home', 'nd_holder'].map((id) => directoryNode(network, id)) as [
    DirectoryNode,
    DirectoryNode,
    DirectoryNode,
  ];
  network.link(here.id, home.id);
  network.link(here.id, holder.id);
  network.link(home.id, holder.id);
  for (const { announcer } of [home, holder]) {
    announcer.putSession(announcedSession('ts_1', home.id));
    announcer.putTunnel(published('tn_1', 'ts_1', { host: 'app.example' }));
    announcer.putTunnel(labelled('tn_2', 'ts_1', { app: 'shop', zone: 'a' }));
  }
  await network.settle();
  return { network, here, home, holder };
}

suite('tunnels of all nodes, as traffic sees them', () => {
  test('finds a tunnel of another node and the link to it', async () => {
    const { here, network, home } = await newWorld();
    const tunnel = here.tunnels.get('tn_1');
    assert.equal(tunnel?.id, 'tn_1');
    assert.equal(tunnel?.forwardsTo, 'http://localhost:3000');
    assert.equal(here.tunnels.get('tn_unknown'), undefined);
    network.unlink(here.id, home.id);
    assert.equal(linkOf(here, 'tn_1'), 'nd_holder');
  });

  test('skips nodes without room, those that were tried and those whose link is lost', async () => {
    const { here, network, home, holder } = await newWorld();
    const tunnel = here.tunnels.get('tn_1');
    const first = tunnel?.link();
    const second = tunnel?.link(first ? [first] : []);
    assert.deepEqual(new Set([nodeOf(first), nodeOf(second)]), new Set([holder.id, home.id]));
    assert.equal(tunnel?.link([first, second].filter((link) => link !== null && link !== undefined)), null);
    network.unlink(here.id, holder.id);
    network.unlink(here.id, home.id);
    assert.equal(tunnel?.link(), null, 'also for a request that holds the tunnel already');
    await swept(here);
    assert.equal(here.tunnels.get('tn_1'), undefined);
  });

  test('takes the less busy of two nodes', async () => {
    const { here, network } = await newWorld();
    const links = network.linksOf('nd_here');
    Object.assign(links.get('nd_home') ?? {}, { active: 3 });
    assert.equal(linkOf(here, 'tn_1'), 'nd_holder');
    Object.assign(links.get('nd_holder') ?? {}, { hasRoom: false });
    assert.equal(linkOf(here, 'tn_1'), 'nd_home');
  });

  test('takes a busier node rather than one that answers no pings', async () => {
    const { here, network } = await newWorld();
    const links = network.linksOf('nd_here');
    const heard = (id: string, agoMs: number, active: number): void =>
      void Object.assign(links.get(id) ?? {}, { heardAtMs: performance.now() - agoMs, active });
    heard('nd_home', 1_200, 0);
    heard('nd_holder', 0, 9);
    assert.equal(linkOf(here, 'tn_1'), 'nd_holder');
    heard('nd_holder', 1_200, 9);
    assert.equal(linkOf(here, 'tn_1'), 'nd_home', 'neither answers');
  });

  test('takes a busier node rather than one that left a call unanswered', async () => {
    const { here, network, holder } = await newWorld();
    const links = network.linksOf('nd_here');
    const nowMs = performance.now();
    Object.assign(links.get('nd_home') ?? {}, { heardAtMs: nowMs, isDoubted: true });
    Object.assign(links.get('nd_holder') ?? {}, { heardAtMs: nowMs, active: 9 });
    assert.equal(linkOf(here, 'tn_1'), 'nd_holder');
    network.unlink(here.id, holder.id);
    assert.equal(linkOf(here, 'tn_1'), 'nd_home', 'it is the only one');
  });

  const preferences: readonly [string, { here: number; peer: number }, 'here' | 'peer'][] = [
    ['an idle connection here', { here: 0, peer: 0 }, 'here'],
    ['a busy connection here', { here: 64, peer: 0 }, 'here'],
    ['a connection here that is twice as busy', { here: 200, peer: 100 }, 'here'],
    ['another node when the connection here is clearly busier', { here: 265, peer: 100 }, 'peer'],
    ['another node when the connection here has 65 streams and the node none', { here: 65, peer: 0 }, 'peer'],
  ];
  for (const [name, active, expected] of preferences) {
    test(`prefers ${name}`, async () => {
      const { here, network, holder } = await newWorld();
      network.unlink(here.id, holder.id);
      Object.assign(network.linksOf(here.id).get('nd_home') ?? {}, { active: active.peer });
      here.local.set('tn_1', { ...fakeLink('here'), active: active.here });
      assert.equal(linkOf(here, 'tn_1'), expected === 'here' ? 'here' : 'nd_home');
    });
  }

  test('uses another node when the connection here is lost or was tried', async () => {
    const { here, holder, network } = await newWorld();
    network.unlink(here.id, holder.id);
    const own = fakeLink('here');
    here.local.set('tn_1', own);
    assert.equal(nodeOf(here.tunnels.get('tn_1')?.link([own])), 'nd_home');
    here.local.set('tn_1', null);
    assert.equal(linkOf(here, 'tn_1'), 'nd_home');
  });

  test('selects by labels among tunnels of all nodes, each once', async () => {
    const { here, network, home, holder } = await newWorld();
    const idsOf = (labels: Readonly<Record<string, string>>): string[] =>
      here.tunnels.matching(labels).map(({ id }) => id);
    here.local.set('tn_2', fakeLink('here'), { app: 'shop', zone: 'a' });
    here.local.set('tn_3', fakeLink('here'), { app: 'shop' });
    assert.deepEqual(idsOf({ app: 'shop' }), ['tn_2', 'tn_3']);
    assert.deepEqual(idsOf({ app: 'shop', zone: 'a' }), ['tn_2']);
    assert.deepEqual(idsOf({ app: 'mail' }), []);
    network.unlink(here.id, home.id);
    network.unlink(here.id, holder.id);
    assert.deepEqual(idsOf({ app: 'shop' }), ['tn_2', 'tn_3'], 'still connected here');
    await swept(here);
    here.local.delete('tn_2');
    assert.deepEqual(idsOf({ app: 'shop' }), ['tn_3']);
  });

  test('changes its generation exactly when a selection may differ', async () => {
    const { here, network, home, holder } = await newWorld();
    const changes = async (act: () => void): Promise<boolean> => {
      const before = here.tunnels.generation;
      act();
      await network.settle();
      return here.tunnels.generation > before;
    };
    assert.ok(await changes(() => home.announcer.putTunnel(labelled('tn_4', 'ts_1', { app: 'new' }))));
    assert.ok(
      !(await changes(() =>
        home.announcer.putTunnel({ ...labelled('tn_4', 'ts_1', { app: 'new' }), forwardsTo: 'x' }),
      )),
    );
    assert.ok(
      !(await changes(() => holder.announcer.putTunnel(labelled('tn_4', 'ts_1', { app: 'new' })))),
      'a second holder',
    );
    assert.ok(await changes(() => here.local.set('tn_9', null)));
    assert.ok(!(await changes(() => home.announcer.removeSession('ts_1'))), 'the other holder stays');
    assert.ok(await changes(() => network.unlink(here.id, holder.id)));
  });
});

suite('sessions of other nodes, as the gateway sees them', () => {
  test('names the holders, the home first', async () => {
    const { here } = await newWorld();
    assert.deepEqual(here.directory.session('ts_1')?.holders, ['nd_home', 'nd_holder']);
    assert.equal(here.directory.session('ts_2'), null);
    assert.deepEqual(
      here.directory
        .tunnelsOf('ts_1')
        .map(({ id }) => id)
        .toSorted(),
      ['tn_1', 'tn_2'],
    );
    assert.deepEqual(here.directory.nameHolder('tls app.example'), { sessionId: 'ts_1', nodeId: 'nd_home' });
    assert.equal(here.directory.nameHolder('plain app.example'), null);
  });

  test('reports that a home no longer announces a session, once, with its tunnels', async () => {
    const { here, network, home } = await newWorld();
    const lost: string[] = [];
    here.directory.onHomeLost(({ id }, tunnels) => lost.push([id, ...tunnels.map((tunnel) => tunnel.id)].join(' ')));
    network.unlink(here.id, home.id);
    await swept(here);
    assert.deepEqual(lost, ['ts_1 tn_1 tn_2']);
    assert.deepEqual(here.directory.session('ts_1')?.holders, ['nd_holder']);
    network.link(here.id, home.id);
    await network.settle();
    network.cut(home.id, here.id);
    await network.settle();
    assert.equal(lost.length, 1, 'a feed that is opened again loses nothing');
  });

  test('follows a session to the node that adopted it', async () => {
    const { here, network, home, holder } = await newWorld();
    network.unlink(here.id, home.id);
    network.unlink(holder.id, home.id);
    await swept(here);
    holder.announcer.putSession(announcedSession('ts_1', holder.id, { epoch: 2 }));
    await network.settle();
    assert.deepEqual(here.directory.session('ts_1')?.session.homeNodeId, holder.id);
    assert.equal(linkOf(here, 'tn_1'), holder.id);
    network.link(here.id, home.id);
    await network.settle();
    assert.deepEqual(here.directory.session('ts_1')?.holders, [holder.id], 'the former home has an old epoch');
    assert.deepEqual(here.refusals.at(-1), {
      ...{ peer: home.id, reason: 'another node has this session', session: 'ts_1', epoch: 1 },
    });
  });

  test('ignores a node that the home does not name as a holder', async () => {
    const { here, network, home } = await newWorld();
    home.announcer.putSession(announcedSession('ts_1', home.id, { holders: [] }));
    await network.settle();
    assert.deepEqual(here.directory.session('ts_1')?.holders, ['nd_home']);
    home.announcer.putSession(announcedSession('ts_1', home.id, { holders: ['nd_holder'] }));
    await network.settle();
    assert.deepEqual(here.directory.session('ts_1')?.holders, ['nd_home', 'nd_holder']);
  });
});

async function swept({ directory }: DirectoryNode): Promise<void> {
  while (!directory.isSwept) await nextTurn();
}

function linkOf(node: DirectoryNode, tunnelId: string): string | undefined {
  return nodeOf(node.tunnels.get(tunnelId)?.link());
}

function nodeOf(link: unknown): string | undefined {
  return (link as { nodeId?: string } | null | undefined)?.nodeId;
}
