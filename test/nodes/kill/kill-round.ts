import assert from 'node:assert/strict';
import type { AgentHandle } from '../../../src/tunnel/agent/index.ts';
import type { Cleanup } from '../../support/cleanup.ts';
import type { ClusterNode } from '../../support/cluster/cluster-node.ts';
import { type Cluster, until } from '../../support/cluster.ts';
import { hostOf, localHttp } from '../../tunnel/support/fault-world.ts';

const GIVE_UP_MS = 20_000;

export interface KillOptions {
  readonly agents: number;
  /** Connections of each agent; null: its default. */
  readonly connections: number | null;
}

export interface KillFigures {
  /** From the kill to the first answer through another node, per agent and node, sorted. */
  readonly answeredMs: readonly number[];
}

/** `kill -9` of the node that agents dialled: how soon do the others answer for them? */
export async function killRound(
  test: Cleanup,
  cluster: Cluster,
  victim: ClusterNode,
  { agents: count, connections }: KillOptions,
): Promise<KillFigures> {
  const others = cluster.others(victim);
  const agents: AgentHandle[] = [];
  for (let n = 0; n < count; n += 1) {
    const addr = await localHttp(test, (_request, response) => response.end(`service ${n}`));
    agents.push(
      await cluster.agent([{ proto: 'https', addr }], {
        at: [victim, ...others],
        ...(connections !== null && { connections }),
      }),
    );
  }
  for (const [n, agent] of agents.entries()) {
    for (const node of others) {
      await until(
        `${node.name} serves ${hostOf(agent)}`,
        async () => (await node.ask(hostOf(agent))).text === `service ${n}`,
      );
    }
  }
  // A connection to a second node follows in the background.
  const hosts = agents.map((agent) => hostOf(agent));
  await until('agents have what they need', () => agents.every((agent) => agent.status === 'online'));
  const killed = victim.kill('SIGKILL');
  const killedAtMs = performance.now();
  const answeredMs = await Promise.all(
    hosts.flatMap((host, n) =>
      others.map(async (node) => {
        for (;;) {
          const answer = await node.ask(host, '/', { signal: AbortSignal.timeout(5000) }).catch(() => null);
          const ms = performance.now() - killedAtMs;
          if (answer?.status === 200) {
            assert.equal(answer.text, `service ${n}`);
            return ms;
          }
          assert.ok(ms < GIVE_UP_MS, `${node.name} does not serve ${host}: ${answer?.status} ${answer?.text}`);
          await new Promise((resolve) => setTimeout(resolve, 25));
        }
      }),
    ),
  );
  await killed;
  await Promise.all(agents.map((agent) => agent.close()));
  return { answeredMs: answeredMs.toSorted((a, b) => a - b) };
}

export function describeKill({ answeredMs }: KillFigures): string {
  const at = (share: number): number =>
    Math.round(answeredMs[Math.min(answeredMs.length - 1, Math.floor(share * answeredMs.length))] ?? 0);
  return `${answeredMs.length} first answers: median ${at(0.5)} ms, p90 ${at(0.9)} ms, p99 ${at(0.99)} ms, last ${at(1)} ms`;
}
