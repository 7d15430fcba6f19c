import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { announcedSession, labelled, published } from '../support/announced.ts';
import { type DirectoryNode, directoryNode } from '../support/directory-node.ts';
import { FakeNetwork } from '../support/fake-network.ts';
import { Announced, expectedDirectory, seenDirectory } from './directory-model.ts';

const RUNS = process.env['POSTERN_TEST_LONG'] === '1' ? 5_000 : 100;
const NODES = ['nd_a', 'nd_b', 'nd_c', 'nd_d'];
const SESSIONS = 4;
const TUNNELS = 6;

const node = fc.constantFrom(...NODES);
const session = fc.nat({ max: SESSIONS - 1 });
const tunnel = fc.nat({ max: TUNNELS - 1 });
const step = fc.oneof(
  { weight: 1, arbitrary: fc.record({ do: fc.constant('full' as const), node }) },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('session' as const), node, session, home: node, epoch: fc.nat({ max: 3 }) }),
  },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('tunnel' as const), node, session, tunnel }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('no session' as const), node, session }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('no tunnel' as const), node, tunnel }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('link' as const, 'unlink' as const), node, other: node }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom('deliver' as const, 'lose' as const, 'repeat' as const, 'garble' as const, 'cut' as const),
      ...{ node, other: node, count: fc.nat({ max: 5 }) },
    }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

interface World {
  readonly network: FakeNetwork;
  readonly nodes: ReadonlyMap<string, DirectoryNode>;
  readonly announced: ReadonlyMap<string, Announced>;
  readonly links: Set<string>;
}

suite('the directory of tunnels', () => {
  test('equals the union of what linked nodes announce, after any losses, gaps and reconnects', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 80, size: 'max' }), async (steps) => {
        const world = newWorld();
        for (const each of steps) take(world, each);
        await world.network.settle();
        for (const each of world.nodes.values()) {
          while (!each.directory.isSwept) await nextTurn();
          assert.deepEqual(seenDirectory(each, IDS), expectedOf(world, each.id), each.id);
        }
      }),
      { numRuns: RUNS },
    );
  });
});

const IDS = {
  tunnels: Array.from({ length: TUNNELS }, (_, at) => `tn_${at}`),
  names: ['tls even.example', 'tls odd.example', 'port 20001'],
};

function newWorld(): World {
  const network = new FakeNetwork();
  const nodes = new Map(NODES.map((id) => [id, directoryNode(network, id)]));
  const links = new Set(['nd_a nd_b', 'nd_a nd_c', 'nd_b nd_c']);
  for (const pair of links) network.link(pair.slice(0, 4), pair.slice(5));
  return { network, nodes, announced: new Map(NODES.map((id) => [id, new Announced()])), links };
}

function take({ network, nodes, announced, links }: World, each: Step): void {
  const { announcer } = nodes.get(each.node) as DirectoryNode;
  const own = announced.get(each.node) as Announced;
  switch (each.do) {
    case 'session': {
      const said = announcedSession(`ts_${each.session}`, each.home, { epoch: each.epoch });
      own.sessions.set(said.id, said);
      announcer.putSession(said);
      return;
    }
    case 'tunnel': {
      const said = tunnelOf(each.tunnel, `ts_${each.session}`);
      const other = own.tunnels.get(said.id);
      if (!own.sessions.has(said.sessionId) || (other !== undefined && other.sessionId !== said.sessionId)) return;
      own.tunnels.set(said.id, said);
      announcer.putTunnel(said);
      return;
    }
    case 'no session': {
      const id = `ts_${each.session}`;
      own.sessions.delete(id);
      for (const said of own.tunnels.values()) if (said.sessionId === id) own.tunnels.delete(said.id);
      announcer.removeSession(id);
      return;
    }
    case 'no tunnel':
      own.tunnels.delete(`tn_${each.tunnel}`);
      announcer.removeTunnel(`tn_${each.tunnel}`);
      return;
    case 'link':
    case 'unlink': {
      if (each.node === each.other) return;
      const pair = [each.node, each.other].toSorted().join(' ');
      if (each.do === 'link') links.add(pair);
      else links.delete(pair);
      network[each.do](each.node, each.other);
      return;
    }
    case 'full':
      network.opensFull = !network.opensFull;
      return;
    case 'cut':
      network.cut(each.node, each.other);
      return;
    case 'deliver':
      network.open(each.node, each.other);
      network.deliver(each.node, each.other, each.count);
      return;
    case 'lose':
    case 'repeat':
    case 'garble':
      harm(network.feed(each.node, each.other)?.lines ?? [], each.do);
  }
}

/**
 * A change that waits is lost, doubled or garbled. A loss shows with the next change only, so another one must wait.
 */
function harm(lines: string[], how: 'lose' | 'repeat' | 'garble'): void {
  const numbered = lines.flatMap((line, at) => (line.includes('"seq"') ? [at] : []));
  const [first, second] = numbered;
  if (first === undefined) return;
  const line = lines[first] as string;
  if (how === 'repeat') lines.splice(first, 0, line);
  else if (how === 'garble') lines[first] = `${line.slice(0, -2)}!`;
  else if (second !== undefined) lines.splice(first, 1);
}

function tunnelOf(at: number, sessionId: string): ReturnType<typeof labelled> {
  const id = `tn_${at}`;
  if (at === 0) return labelled(id, sessionId, { app: 'shop' });
  if (at === 1) return published(id, sessionId, { proto: 'tcp', port: 20_001 });
  return published(id, sessionId, { host: at % 2 === 0 ? 'even.example' : 'odd.example' });
}

function expectedOf({ announced, links }: World, ownId: string): ReturnType<typeof expectedDirectory> {
  const linked = NODES.filter((id) => id === ownId || links.has([id, ownId].toSorted().join(' ')));
  return expectedDirectory(ownId, new Map([...announced].filter(([id]) => linked.includes(id))));
}
