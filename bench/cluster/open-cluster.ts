import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TunnelSpec } from '../../src/tunnel/agent/index.ts';
import type { ClusterNode } from '../../test/support/cluster/cluster-node.ts';
import { Cluster } from '../../test/support/cluster.ts';
import { type Program, startProgram } from '../support/start-program.ts';
import type { AgentProgramOptions } from '../tunnel/agent-program.ts';

const AGENT = fileURLToPath(new URL('../tunnel/agent-program.ts', import.meta.url));

/** Real server processes on one PostgreSQL, and agents in a process of their own. */
export interface BenchCluster {
  readonly cluster: Cluster;
  /** Agents with one connection each, to this node. */
  readonly agents: (node: ClusterNode, agents: readonly (readonly TunnelSpec[])[]) => Promise<Program>;
}

export async function openCluster(
  stack: AsyncDisposableStack,
  directory: string,
  nodes = 3,
  env: Readonly<Record<string, string>> = {},
): Promise<BenchCluster> {
  const cluster = await Cluster.open(
    { after: (task) => stack.defer(task) },
    {
      nodes,
      env: {
        POSTERN_ACCESS_LOG: 'false',
        POSTERN_EDGE_CONNECTIONS_PER_ADDRESS: '0',
        ...env,
      },
    },
  );
  const ca = join(directory, 'trust.pem');
  await writeFile(ca, cluster.ca.join('\n'));
  return {
    cluster,
    agents: async (node, agents) => {
      const options: AgentProgramOptions = {
        serverAddr: node.tunnelAddr,
        servername: 'localhost',
        authtoken: cluster.token,
        connections: 1,
        ca,
        agents,
      };
      const program = await startProgram([AGENT], { BENCH_AGENT: JSON.stringify(options) });
      stack.defer(() => program.stop());
      return program;
    },
  };
}
