/** A permanent failure of an agent or of one of its tunnels. The message says what to do about it. */
export class AgentError extends Error {
  /** The server's code, or the agent's own such as `ERR_POSTERN_AGENT_CERTIFICATE`. */
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'AgentError';
    this.code = code;
  }
}
