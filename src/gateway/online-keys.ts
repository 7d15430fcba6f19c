import type { AgentSession } from './agent-session.ts';

/** Tunnels that receive traffic, by public address or labels: an agent keeps these when it moves to another process. */
export function onlineKeys(sessions: Iterable<AgentSession>): readonly string[] {
  return [...sessions].flatMap((session) =>
    [...session.tunnels.values()]
      .filter(({ isListed }) => isListed)
      .map(({ publicUrl, labels }) => publicUrl ?? JSON.stringify(labels)),
  );
}
