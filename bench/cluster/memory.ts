import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { directoryNode } from '../../test/nodes/support/directory-node.ts';
import { FakeNetwork } from '../../test/nodes/support/fake-network.ts';
import { listedIds, until } from '../../test/support/cluster.ts';
import { isQuick, say } from '../support/flags.ts';
import { announceTunnels } from './announce-tunnels.ts';
import { type CollectedMemory, collectedMemory, INSPECTED } from './collected-memory.ts';
import { openCluster } from './open-cluster.ts';

const PER_AGENT = 100;
const AGENTS = isQuick ? 2 : 20;
/** Tunnels in the directory. */
const KNOWN = isQuick ? 1_000 : 20_000;
const SETTLE_MS = isQuick ? 1000 : 5000;

/** Memory of tunnels that another node has: the heap of their directory, and the resident memory of real processes. */
export async function memory(directory: string): Promise<void> {
  await directoryHeap();
  await residentMemory(directory);
}

/** After a garbage collection, at a node that only knows of the tunnels, each with a name of its own. */
async function directoryHeap(): Promise<void> {
  const network = new FakeNetwork();
  const [node, home] = [directoryNode(network, 'nd_here'), directoryNode(network, 'nd_home')];
  announceTunnels(home, KNOWN);
  const before = heapMiB();
  network.link(node.id, home.id);
  await network.settle();
  const used = heapMiB() - before;
  if (node.tunnels.get(`tn_${KNOWN - 1}`) === undefined) throw new Error('the directory is incomplete');
  say(`${'directory alone, heap'.padEnd(22)}${(used / (KNOWN / 1000)).toFixed(2)} MiB per 1,000 tunnels`);
}

function heapMiB(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('globalThis.gc') as () => void)();
  return process.memoryUsage().heapUsed / 2 ** 20;
}

/** Labelled tunnels, a hundred per agent, in real processes after a garbage collection. */
async function residentMemory(directory: string): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const { cluster, agents } = await openCluster(stack, directory, 2, INSPECTED);
  const nodes = [cluster.node(0), cluster.node(1)] as const;
  const [local, far] = nodes;
  const agentsOf = (first: number, count: number) =>
    Array.from({ length: count }, (_, agent) =>
      Array.from({ length: PER_AGENT }, (_each, n) => ({ labels: { agent: `${first + agent}`, n: `${n}` }, addr: 9 })),
    );
  const measured = async (): Promise<readonly CollectedMemory[]> => {
    await sleep(SETTLE_MS);
    return [await collectedMemory(local), await collectedMemory(far)];
  };
  // The first agent brings what every node with agents has.
  await agents(local, agentsOf(0, 1));
  const before = await measured();
  await agents(local, agentsOf(1, AGENTS));
  const total = (AGENTS + 1) * PER_AGENT;
  await until('the other node knows all tunnels', async () => (await listedIds(far, 'tunnels')).size === total);
  const after = await measured();
  const thousands = (AGENTS * PER_AGENT) / 1000;
  for (const [at, title] of ['node that has them', 'node that knows them'].entries()) {
    const grown = (field: keyof CollectedMemory): string => {
      const [from, to] = [before[at]?.[field] ?? 0, after[at]?.[field] ?? 0];
      return `${((to - from) / thousands).toFixed(1)} MiB (${from.toFixed(0)} → ${to.toFixed(0)})`;
    };
    say(`${title.padEnd(22)}per 1,000 tunnels: heap ${grown('heapMiB')}, resident ${grown('rssMiB')}`);
  }
}
