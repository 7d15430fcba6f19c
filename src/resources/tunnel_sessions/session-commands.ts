export type SessionCommand = 'stop' | 'restart' | 'update';

/** Sends commands to the process that holds an agent's session. */
export interface SessionCommands {
  /** `refused`: the agent's message. */
  send(sessionId: string, command: SessionCommand): Promise<'accepted' | 'unreachable' | { readonly refused: string }>;
}
