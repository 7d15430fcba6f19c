import { errorTable } from '../../kit/errors.ts';

/** Errors sent to agents, as the code of a refusal. */
export const gatewayErrors = errorTable({
  ERR_POSTERN_AGENT_TOKEN: {
    status: 401,
    explanation:
      'The server does not know the agent token. Create one with POST /credentials and configure the agent with it.',
  },
  ERR_POSTERN_AGENT_REVOKED: {
    status: 401,
    explanation: 'The agent token was deleted. Configure the agent with another one.',
  },
  ERR_POSTERN_AGENT_INVITATION: {
    status: 401,
    explanation:
      'The invitation of the agent is unknown, or it expired, was used or was revoked. Make a new one with "postern agents invite".',
  },
  ERR_POSTERN_AGENT_GUESSES: {
    status: 429,
    explanation:
      'The server got too many wrong invitations, from this address or altogether. Wait a minute, and join again.',
  },
  ERR_POSTERN_AGENT_PROTOCOL: {
    status: 400,
    explanation: 'Agent and server use different protocol versions. Use the same release of both.',
  },
  ERR_POSTERN_AGENT_REPLACED: {
    status: 409,
    explanation: 'Another instance of the agent has taken over this session or its name.',
  },
  ERR_POSTERN_AGENT_SESSION: {
    status: 404,
    explanation:
      'The session that a connection tries to join does not exist, or the agent has the wrong secret for it.',
  },
  ERR_POSTERN_AGENT_CONNECTIONS: {
    status: 429,
    explanation:
      'The session of the agent has the maximum of 16 connections. Lost connections count for up to 12 seconds. Start another agent for more.',
  },
  ERR_POSTERN_TUNNEL_ACL: {
    status: 403,
    explanation: 'The rules (acl) of the agent token do not allow this name, label or module.',
  },
  ERR_POSTERN_TUNNEL_NAME_TAKEN: {
    status: 409,
    explanation: 'The requested name belongs to an edge or to another tunnel.',
  },
  ERR_POSTERN_TUNNEL_INVALID: {
    status: 400,
    explanation: 'The request for a tunnel is invalid: a field is wrong, missing, or not valid for the protocol.',
  },
  ERR_POSTERN_TUNNEL_LIMIT: {
    status: 429,
    explanation: 'The session has reached the maximum number of tunnels. Start another agent for more.',
  },
  ERR_POSTERN_TUNNEL_PORT: {
    status: 409,
    explanation: 'No port for TCP tunnels is free, or the requested port is not.',
  },
  ERR_POSTERN_GATEWAY_DRAINING: {
    status: 503,
    explanation: 'The server is shutting down. The agent reconnects automatically.',
  },
  ERR_POSTERN_GATEWAY_STORE: {
    status: 503,
    explanation:
      'The server cannot reach its database. Connected agents and their tunnels continue; new sessions and names wait. The agent retries automatically.',
  },
});

export type GatewayErrorCode = keyof typeof gatewayErrors.rows;
