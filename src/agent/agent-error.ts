/** Why an agent, or one of its tunnels, cannot be: in words that say what to do. */
export class AgentError extends Error {
  /** The server's code, or the agent's own such as `ERR_POSTERN_AGENT_CERTIFICATE`. */
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'AgentError';
    this.code = code;
  }
}
