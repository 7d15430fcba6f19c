import type { AgentLink } from '../edge/tunnels/online-tunnels.ts';
import type { AgentMessage } from '../tunnel/messages.ts';
import type { SessionConnection } from './session-connection.ts';

/** An agent's connection to this node, in the gateway's thread (`AgentConnection`) or in a worker. */
export interface LocalConnection extends AgentLink, SessionConnection {
  /** Number of the worker that has it; undefined: the gateway's own thread. */
  readonly worker?: number;
  /** Duration of the last ping; null before the first answer. */
  readonly roundTripMs: number | null;
  /** Received from the agent and sent to it, without TLS. */
  readonly bytes: { readonly received: number; readonly sent: number };
  /** False when it was measured lately. */
  measureRoundTrip(): boolean;
  /** The agent has identified itself and was accepted. */
  greeted(): void;
  /** A worker that has the connection serves the session's names by the right of this node only while it is the home. */
  belongsTo?(sessionId: string, isHome: boolean): void;
  /** The agent connects to another process; requests still go to it on this connection until `drain`. */
  sendAway(): void;
  /** Notifies the agent, sends new streams elsewhere, and closes when the last stream has ended. */
  drain(): void;
}

export interface ConnectionHandler<Connection = LocalConnection> {
  onMessage(connection: Connection, message: AgentMessage): void;
  /** Called once. `reason` is null when the agent left cleanly. */
  onClosed(connection: Connection, reason: string | null): void;
}
