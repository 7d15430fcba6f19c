import { Agent } from './agent.ts';
import type { AgentHandle, AgentOptions } from './handle.ts';

export { AgentError } from './errors.ts';
export type * from './handle.ts';
export type {
  AgentHandle,
  AgentNode,
  AgentOptions,
  AgentTunnel,
  ExchangeObserver,
  FolderOptions,
  ObservedRequest,
  ObserveExchange,
  TunnelSpec,
  TunnelStatus,
  UpstreamTlsOptions,
} from './handle.ts';

/**
 * Starts an agent, and resolves when its tunnels are bound. It keeps trying while the server cannot be reached. Rejects
 * with an `AgentError` when retrying is useless: a wrong option, authtoken or certificate, or every tunnel refused.
 */
export async function connect(options: AgentOptions): Promise<AgentHandle> {
  const agent = new Agent(options);
  await agent.ready;
  return agent;
}

/** Like `connect`, for callers that want to watch the agent connect, or to stop it before it has. */
export function startAgent(options: AgentOptions): AgentHandle & { readonly ready: Promise<void> } {
  return new Agent(options);
}
