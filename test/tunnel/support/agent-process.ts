import { startAgent } from '../../../src/tunnel/agent/index.ts';
import { QUICK_TRIES } from './fault-world.ts';

/** Agents in their own process: their number and options come as a JSON argument. */
export interface AgentProcessOptions {
  readonly serverAddr: string;
  readonly ca: readonly string[];
  readonly token: string;
  readonly port: number;
  readonly count?: number;
  readonly domain?: string;
  /** With the product's own delays. */
  readonly isPatient?: boolean;
}

export type AgentProcessMessage =
  | { readonly type: 'ready'; readonly at: number; readonly id: string; readonly url: string }
  | { readonly type: 'bound'; readonly at: number; readonly id: string; readonly url: string; readonly timeMs: number }
  | { readonly type: 'status'; readonly at: number; readonly status: string; readonly reason: string | null };

const options = JSON.parse(process.argv[2] ?? '{}') as AgentProcessOptions;
const tell = (message: AgentProcessMessage): void => {
  process.send?.(message);
};
for (let at = 0; at < (options.count ?? 1); at += 1) {
  const agent = startAgent({
    serverAddr: options.serverAddr,
    ca: options.ca,
    authtoken: options.token,
    tunnels: [{ proto: 'https', addr: options.port, ...(options.domain !== undefined && { domain: options.domain }) }],
    ...(options.isPatient !== true && { timings: QUICK_TRIES }),
  });
  const facts = () => ({ at, id: agent.tunnels[0]?.id ?? '', url: agent.publicUrl ?? '' });
  agent.on('bound', () => tell({ type: 'bound', ...facts(), timeMs: Date.now() }));
  agent.on('status', ({ status, reason }) => tell({ type: 'status', at, status, reason }));
  agent.ready.then(
    () => tell({ type: 'ready', ...facts() }),
    () => {},
  );
}
// The parent process is gone.
process.on('disconnect', () => process.exit());
