import { readFileSync } from 'node:fs';
import { tuneRuntime } from '../../src/kit/process/tune-runtime.ts';
import { type AgentHandle, connect, type TunnelSpec } from '../../src/tunnel/agent/index.ts';

/** Options passed in the variable BENCH_AGENT. */
export interface AgentProgramOptions {
  readonly serverAddr: string;
  readonly authtoken: string;
  readonly servername?: string;
  readonly connections?: number;
  /** A file with certificates. */
  readonly ca: string;
  /** One agent per entry. */
  readonly agents: readonly (readonly TunnelSpec[])[];
}

/**
 * Agents in their own process, without inspector, tuned like `postern http`. Prints a line when their tunnels are
 * bound, and ends on SIGTERM.
 */
tuneRuntime({ isAgent: true });
const { agents, ca, ...options } = JSON.parse(process.env['BENCH_AGENT'] ?? '') as AgentProgramOptions;
const handles: AgentHandle[] = [];
for (const tunnels of agents) handles.push(await connect({ ...options, ca: readFileSync(ca, 'utf8'), tunnels }));
process.stdout.write(`${JSON.stringify({ addresses: { api: options.serverAddr }, msg: 'ready' })}\n`);
process.once('SIGTERM', () => void Promise.all(handles.map((handle) => handle.close())).then(() => process.exit()));
