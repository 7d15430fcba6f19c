import { setTimeout as sleep } from 'node:timers/promises';
import { listedIds, until } from '../../test/support/cluster.ts';
import { isQuick, say } from '../support/flags.ts';
import { rssMiB } from '../support/process-cost.ts';
import { openCluster } from './open-cluster.ts';

const PER_AGENT = 100;
const AGENTS = isQuick ? 2 : 20;
const SETTLE_MS = isQuick ? 1000 : 8000;

/** Resident memory of tunnels that another node has: labelled ones, a hundred per agent. */
export async function memory(directory: string): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const { cluster, agents } = await openCluster(stack, directory, 2);
  const [local, far] = [cluster.node(0), cluster.node(1)];
  const agentsOf = (first: number, count: number) =>
    Array.from({ length: count }, (_, agent) =>
      Array.from({ length: PER_AGENT }, (_each, n) => ({ labels: { agent: `${first + agent}`, n: `${n}` }, addr: 9 })),
    );
  // The first agent brings what every node with agents has.
  await agents(local, agentsOf(0, 1));
  await sleep(SETTLE_MS);
  const before = { local: rssMiB(local.pid), far: rssMiB(far.pid) };
  await agents(local, agentsOf(1, AGENTS));
  const total = (AGENTS + 1) * PER_AGENT;
  await until('the other node knows all tunnels', async () => (await listedIds(far, 'tunnels')).size === total);
  await sleep(SETTLE_MS);
  const after = { local: rssMiB(local.pid), far: rssMiB(far.pid) };
  const thousands = (AGENTS * PER_AGENT) / 1000;
  for (const name of ['far', 'local'] as const) {
    const title = name === 'far' ? 'node that knows them' : 'node that has them';
    const perThousand = (after[name] - before[name]) / thousands;
    say(
      `${title.padEnd(22)}${perThousand.toFixed(1)} MiB per 1,000 tunnels (${before[name].toFixed(0)} → ${after[name].toFixed(0)} MiB)`,
    );
  }
}
