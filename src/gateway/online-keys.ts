import type { AgentSession } from './agent-session.ts';
import type { OnlineTunnelTable } from './online-tunnel-table.ts';

/** Tunnels that receive traffic, by public address or labels: an agent keeps these when it moves to another process. */
export function onlineKeys(sessions: Iterable<AgentSession>, table: OnlineTunnelTable): readonly string[] {
  return [...sessions].flatMap((session) =>
    [...session.tunnels.values()]
      .filter((tunnel) => table.get(tunnel.id) === tunnel)
      .map(({ publicUrl, labels }) => publicUrl ?? JSON.stringify(labels)),
  );
}
