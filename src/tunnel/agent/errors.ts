import { errorTable } from '../../kit/errors.ts';

/** Errors that the agent raises itself. Errors reported by the server use the gateway's codes. */
export const agentErrors = errorTable({
  ERR_POSTERN_AGENT_OPTIONS: {
    status: 400,
    explanation:
      'An option of the agent is invalid or missing, such as the address of the server. The message names it.',
  },
  ERR_POSTERN_AGENT_ADDRESS: {
    status: 400,
    explanation: 'The address of a local service is invalid. Use a port, host:port, or a URL.',
  },
  ERR_POSTERN_AGENT_CERTIFICATE: {
    status: 502,
    explanation:
      "The agent does not trust the server's certificate for the name that it dials. Set the CA (--root-ca) or use the right name.",
  },
  ERR_POSTERN_AGENT_STOPPED: {
    status: 503,
    explanation: 'The agent was stopped through the API of the server. Start it again on its machine.',
  },
  ERR_POSTERN_AGENT_RESTARTED: {
    status: 503,
    explanation: 'The API of the server requested a restart. The agent reconnects automatically.',
  },
  ERR_POSTERN_AGENT_UNANSWERED: {
    status: 504,
    explanation:
      'The server accepted the agent but did not respond to its tunnels. The agent reconnects automatically. If the error persists, check the log of the server.',
  },
  ERR_POSTERN_AGENT_CLOSED: {
    status: 503,
    explanation: 'The program that runs the agent closed it before it was online.',
  },
  ERR_POSTERN_AGENT_INSPECTOR: {
    status: 409,
    explanation:
      'The inspector cannot listen on its address. Choose another one with --inspect-addr, or use --no-inspect.',
  },
  ERR_POSTERN_TUNNEL_REFUSED: {
    status: 409,
    explanation: 'The server rejected all tunnels. The lines above name the reason for each.',
  },
});

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
