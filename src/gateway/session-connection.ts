import type { GatewayMessage } from '../tunnel/messages.ts';

/** A connection of a session, seen by the node that decides about the session: here, or on another node. */
export interface SessionConnection {
  readonly remoteAddress: string;
  readonly isClosed: boolean;
  send(message: GatewayMessage): void;
  /** Sends the reason, then closes. */
  refuse(code: string, message: string, retry: boolean): void;
  /** Closes immediately. */
  fail(reason: string): void;
  /** The agent left cleanly. */
  close(): void;
  isAlive(withinMs: number): Promise<boolean>;
}

/** A connection that another node has. */
export interface RemoteSessionConnection extends SessionConnection {
  readonly nodeId: string;
  /** The other node's number for it. */
  readonly number: number;
}
