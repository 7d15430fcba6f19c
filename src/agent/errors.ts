import { errorTable } from '../lib/errors.ts';

/** Errors that the agent raises itself. Errors reported by the server use the gateway's codes. */
export const agentErrors = errorTable({
  ERR_POSTERN_AGENT_OPTIONS: {
    status: 400,
    explanation: 'An option of the agent is wrong or missing, such as the address of the server. The message names it.',
  },
  ERR_POSTERN_AGENT_ADDRESS: {
    status: 400,
    explanation: 'The address of a local service cannot be read. It is a port, host:port, or a URL.',
  },
  ERR_POSTERN_AGENT_CERTIFICATE: {
    status: 502,
    explanation:
      "The server's certificate is not one that the agent trusts for the name that it dials. Give the agent the CA (--root-ca), or the right name.",
  },
  ERR_POSTERN_AGENT_STOPPED: {
    status: 503,
    explanation: 'The agent was stopped through the API of the server. Start it again where it runs.',
  },
  ERR_POSTERN_AGENT_RESTARTED: {
    status: 503,
    explanation: 'The agent was told through the API of the server to connect anew. It does so by itself.',
  },
  ERR_POSTERN_AGENT_UNANSWERED: {
    status: 504,
    explanation:
      'The server let the agent in and then did not say whether it opens its tunnels. The agent connects anew by itself; look at the log of the server when it stays so.',
  },
  ERR_POSTERN_AGENT_CLOSED: {
    status: 503,
    explanation: 'The agent was closed by the program that runs it, before it was online.',
  },
  ERR_POSTERN_AGENT_INSPECTOR: {
    status: 409,
    explanation:
      'The inspector cannot listen where it should. Choose another address with --inspect-addr, or --no-inspect.',
  },
  ERR_POSTERN_TUNNEL_REFUSED: {
    status: 409,
    explanation: 'The server opened none of the tunnels. The lines above it say why, for each.',
  },
});
