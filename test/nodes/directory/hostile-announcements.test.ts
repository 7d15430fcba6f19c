import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Rights } from '../../../src/tunnel/nodes/directory/rights.ts';
import { announcedSession, labelled, published } from '../support/announced.ts';
import { type DirectoryNode, directoryNode } from '../support/directory-node.ts';
import { FakeNetwork } from '../support/fake-network.ts';

const BEGIN = '{"t":"begin","v":1,"seq":0}';
const END = '{"t":"end"}';
const SESSION = { t: 'session', session: announcedSession('ts_x', 'nd_x') };
const TUNNEL = { t: 'tunnel', tunnel: labelled('tn_x', 'ts_x', { app: 'x' }) };

interface World {
  readonly network: FakeNetwork;
  readonly here: DirectoryNode;
  readonly honest: DirectoryNode;
  /** Lines in the name of `nd_x`. */
  readonly say: (...lines: readonly (string | object)[]) => void;
}

/** What the store says: the honest node's session and its name. */
const STORE: Rights = {
  isRight: ({ id, homeNodeId, epoch }) =>
    Promise.resolve((id === 'ts_1' && homeNodeId === 'nd_honest' && epoch === 5) || id === 'ts_real'),
  nameOwner: (key) => Promise.resolve(key === 'tls app.example' ? 'ts_1' : null),
};

async function newWorld(rights: Rights = STORE): Promise<World> {
  const network = new FakeNetwork();
  const here = directoryNode(network, 'nd_here', rights);
  const honest = directoryNode(network, 'nd_honest');
  const hostile = network.join('nd_x');
  hostile.serveFeed('directory', () => {});
  network.link(here.id, honest.id);
  network.link(here.id, 'nd_x');
  honest.announcer.putSession(announcedSession('ts_1', honest.id, { epoch: 5, holders: [] }));
  honest.announcer.putTunnel(published('tn_1', 'ts_1', { host: 'app.example' }));
  honest.announcer.putTunnel(labelled('tn_2', 'ts_1', { app: 'shop' }));
  await network.settle();
  const say = (...lines: readonly (string | object)[]): void => {
    for (const line of lines)
      network.feed('nd_x', here.id)?.deliver(typeof line === 'string' ? line : JSON.stringify(line));
  };
  return { network, here, honest, say };
}

/** The honest node's tunnels are where they were. */
function assertUnharmed({ here }: World): void {
  assert.deepEqual(here.directory.session('ts_1')?.holders, ['nd_honest']);
  for (const id of ['tn_1', 'tn_2']) assert.deepEqual(holdersOf(here, id), ['nd_honest']);
  assert.deepEqual(here.directory.nameHolder('tls app.example'), { sessionId: 'ts_1', nodeId: 'nd_honest' });
}

function holdersOf({ directory }: DirectoryNode, id: string): readonly string[] | undefined {
  return directory.remoteTunnel(id)?.holders.map(({ nodeId }) => nodeId);
}

/** Questions to the store are answered. */
async function answered(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await nextTurn();
}

suite('lines that no node sends', () => {
  const changed = (fields: object): object => ({ t: 'tunnel', tunnel: { ...TUNNEL.tunnel, ...fields } });
  const cases: readonly [string, readonly (string | object)[], RegExp][] = [
    ['text that is not JSON', [BEGIN, '{"t":'], /not JSON/],
    ['a list', [BEGIN, '[]'], /not an object/],
    ['nothing', [BEGIN, 'null'], /not an object/],
    ['an item before begin', [SESSION], /first line/],
    ['a second begin', [BEGIN, BEGIN], /second begin/],
    ['a begin without a version', ['{"t":"begin","seq":0}'], /wrong or missing/],
    ['a number that skips one', [BEGIN, END, { t: 'no_session', seq: 2, id: 'ts_1' }], /missing or was repeated/],
    ['the same number twice', [BEGIN, END, ...twice({ t: 'no_session', seq: 1, id: 'a' })], /missing or was repeated/],
    ['a number beyond what is exact', [BEGIN, END, '{"t":"no_session","seq":1e300,"id":"a"}'], /wrong or missing/],
    ['a change without a number', [BEGIN, END, SESSION], /without a number/],
    ['a tunnel of an unknown session', [BEGIN, TUNNEL], /not announced/],
    ['a session without an epoch', [BEGIN, { t: 'session', session: { ...SESSION.session, epoch: null } }], /wrong or/],
    ['an epoch that is no integer', [BEGIN, { t: 'session', session: { ...SESSION.session, epoch: 1.5 } }], /wrong or/],
    ['labels that are no texts', [BEGIN, SESSION, changed({ labels: { app: 1 } })], /wrong or/],
    ['neither labels nor an endpoint', [BEGIN, SESSION, changed({ labels: null })], /either an endpoint or labels/],
    [
      'an endpoint of tcp without a port',
      [BEGIN, SESSION, { t: 'tunnel', tunnel: published('tn_y', 'ts_x', { proto: 'tcp' }) }],
      /has a port/,
    ],
    ['an id that is too long', [BEGIN, SESSION, changed({ id: 'x'.repeat(65) })], /wrong or/],
    ['a line that is too long', [BEGIN, `{"t":"x","y":"${'x'.repeat(300_000)}"}`], /too long/],
  ];
  for (const [name, lines, reason] of cases) {
    test(`are refused and logged: ${name}`, async () => {
      const world = await newWorld();
      world.say(...lines);
      assert.match(String(world.here.refusals.at(-1)?.reason), reason);
      assert.equal(world.here.refusals.at(-1)?.peer, 'nd_x');
      assert.equal(world.network.feed('nd_x', 'nd_here'), undefined, 'the feed is closed');
      assertUnharmed(world);
    });
  }

  test('of a newer node are ignored where they are unknown', async () => {
    const { here, say } = await newWorld();
    say(
      { ...JSON.parse(BEGIN), v: 2, shiny: true },
      { t: 'session', session: { ...SESSION.session, newer: { x: 1 } }, more: 1 },
      { t: 'weather', of: 'today' },
      TUNNEL,
      END,
      { t: 'weather', seq: 1 },
      { t: 'no_tunnel', seq: 2, id: 'tn_unknown', sessionId: 'ts_x' },
    );
    assert.deepEqual(here.refusals, []);
    assert.deepEqual(holdersOf(here, 'tn_x'), ['nd_x']);
  });
});

suite('announcements of what belongs to another node', () => {
  const claim = (session: object, ...tunnels: object[]): readonly object[] => [
    { t: 'session', session },
    ...tunnels.map((tunnel) => ({ t: 'tunnel', tunnel })),
  ];
  const app = (sessionId: string): object => published('tn_x', sessionId, { host: 'app.example' });
  const cases: readonly [string, readonly object[]][] = [
    [
      'its session with an old epoch',
      claim(announcedSession('ts_1', 'nd_x', { epoch: 4 }), labelled('tn_1', 'ts_1', { a: 'b' })),
    ],
    ['its session with the same epoch', claim(announcedSession('ts_1', 'nd_x', { epoch: 5 }))],
    [
      'its session with a high epoch',
      claim(announcedSession('ts_1', 'nd_x', { epoch: 2 ** 50 }), labelled('tn_2', 'ts_1', { a: 'b' })),
    ],
    [
      'its tunnel in an invented session',
      claim(announcedSession('ts_x', 'nd_x', { epoch: 2 ** 50 }), labelled('tn_2', 'ts_x', { app: 'x' })),
    ],
    ['its name in an invented session', claim(announcedSession('ts_x', 'nd_x', { epoch: 2 ** 50 }), app('ts_x'))],
    [
      'its session, as a further holder that its home does not name',
      claim(announcedSession('ts_1', 'nd_honest', { epoch: 5 }), labelled('tn_2', 'ts_1', { app: 'shop' })),
    ],
    ['its name in a real session', claim(announcedSession('ts_real', 'nd_x', { epoch: 9 }), app('ts_real'))],
  ];
  for (const [name, lines] of cases) {
    for (const isFirst of [false, true]) {
      test(`are refused and logged: ${name}${isFirst ? ', before the node itself announces it' : ''}`, async () => {
        const world = await newWorld();
        if (isFirst) world.network.unlink('nd_here', 'nd_honest');
        world.say(BEGIN, ...lines, END);
        if (isFirst) world.network.link('nd_here', 'nd_honest');
        await world.network.settle();
        await answered();
        assertUnharmed(world);
        assert.ok(world.here.refusals.length > 0);
      });
    }
  }

  test('change nothing while the store cannot be asked', async () => {
    const away = (): Promise<never> => Promise.reject(new Error('the store is away'));
    const world = await newWorld({ isRight: away, nameOwner: away });
    world.say(BEGIN, ...cases.flatMap(([, lines]) => lines), END);
    await answered();
    assertUnharmed(world);
  });

  test('count once the store confirms them', async () => {
    const rights: Rights = {
      isRight: ({ homeNodeId }) => Promise.resolve(homeNodeId === 'nd_x'),
      nameOwner: () => Promise.resolve('ts_1'),
    };
    const { here, say } = await newWorld(rights);
    say(
      BEGIN,
      ...claim(announcedSession('ts_1', 'nd_x', { epoch: 6 }), published('tn_1', 'ts_1', { host: 'app.example' })),
      END,
    );
    await answered();
    assert.deepEqual(here.directory.session('ts_1')?.holders, ['nd_x']);
    assert.deepEqual(holdersOf(here, 'tn_1'), ['nd_x']);
  });
});

function twice(line: object): readonly object[] {
  return [line, line];
}
