import { readFileSync } from 'node:fs';
import { type AgentHandle, connect, type TunnelSpec } from '../../src/agent/index.ts';
import { tuneRuntime } from '../../src/lib/tune-runtime.ts';

/** What the program is told in the variable BENCH_AGENT. */
export interface AgentProgramOptions {
  readonly serverAddr: string;
  readonly authtoken: string;
  /** A file with certificates. */
  readonly ca: string;
  /** One agent each. */
  readonly agents: readonly (readonly TunnelSpec[])[];
}

/** Agents in a process of their own, without inspector, tuned as `postern http` is. It says when their tunnels are there, and ends with SIGTERM. */
tuneRuntime();
const { agents, ca, ...options } = JSON.parse(process.env['BENCH_AGENT'] ?? '') as AgentProgramOptions;
const handles: AgentHandle[] = [];
for (const tunnels of agents) handles.push(await connect({ ...options, ca: readFileSync(ca, 'utf8'), tunnels }));
process.stdout.write(`${JSON.stringify({ addresses: { api: options.serverAddr }, msg: 'ready' })}\n`);
process.once('SIGTERM', () => void Promise.all(handles.map((handle) => handle.close())).then(() => process.exit()));
