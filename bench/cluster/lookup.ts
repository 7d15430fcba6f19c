import { type DirectoryNode, directoryNode } from '../../test/nodes/support/directory-node.ts';
import { FakeNetwork } from '../../test/nodes/support/fake-network.ts';
import { isQuick, say } from '../support/flags.ts';
import { median } from '../support/process-cost.ts';
import { announceTunnels } from './announce-tunnels.ts';

const COUNTS = isQuick ? [10, 1000] : [10, 1000, 10_000, 100_000];
const ROUNDS = isQuick ? 3 : 15;
const LOOKUPS = isQuick ? 20_000 : 100_000;
/** Ten in turn show the cost of the algorithm. With a thousand, spread over all, the processor's caches miss. */
const IN_TURN = [10, 1000];

interface Figures {
  readonly count: number;
  readonly inTurn: number;
  readonly nanos: number[];
  readonly bytes: number[];
}

/** What a request does before it is forwarded: find the tunnel by its id, and the link to a node that has it. */
export async function lookup(): Promise<void> {
  const nodes = new Map<number, DirectoryNode>();
  for (const count of COUNTS) nodes.set(count, await filled(count));
  const figures = COUNTS.flatMap((count) =>
    IN_TURN.filter((inTurn) => inTurn <= count).map((inTurn): Figures => ({ count, inTurn, nanos: [], bytes: [] })),
  );
  // The first round compiles. All take turns: a busy machine slows down each of them.
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const { count, inTurn, nanos, bytes } of figures) {
      const ids = Array.from({ length: inTurn }, (_, n) => `tn_${Math.floor((n * count) / inTurn)}`);
      const heapBefore = process.memoryUsage().heapUsed;
      const ms = lookUp(nodes.get(count) as DirectoryNode, ids);
      if (round === 0) continue;
      nanos.push((ms * 1e6) / LOOKUPS);
      bytes.push((process.memoryUsage().heapUsed - heapBefore) / LOOKUPS);
    }
  }
  for (const inTurn of IN_TURN) {
    const rows = figures.filter((each) => each.inTurn === inTurn);
    const least = median(rows[0]?.nanos ?? []);
    say(`\n${inTurn} different tunnels in turn`);
    for (const { count, nanos, bytes } of rows) {
      const ns = median(nanos);
      const allocated = Math.max(0, median(bytes)).toFixed(1);
      say(
        `${String(count).padStart(7)} tunnels${ns.toFixed(0).padStart(6)} ns   ${(ns / least).toFixed(2)} × ${rows[0]?.count}   ${allocated} bytes allocated`,
      );
    }
  }
}

function lookUp({ tunnels }: DirectoryNode, ids: readonly string[]): number {
  const startedMs = performance.now();
  let found = 0;
  for (let n = 0; n < LOOKUPS; n += 1) if (tunnels.get(ids[n % ids.length] ?? '')?.link() != null) found += 1;
  if (found !== LOOKUPS) throw new Error(`${LOOKUPS - found} tunnels were not found`);
  return performance.now() - startedMs;
}

async function filled(count: number): Promise<DirectoryNode> {
  const network = new FakeNetwork();
  const [node, home] = [directoryNode(network, 'nd_here'), directoryNode(network, 'nd_home')];
  network.link(node.id, home.id);
  announceTunnels(home, count);
  await network.settle();
  return node;
}
