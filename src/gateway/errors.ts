import { errorTable } from '../lib/errors.ts';

/** Errors sent to agents, as the code of a refusal. */
export const gatewayErrors = errorTable({
  ERR_POSTERN_AGENT_TOKEN: {
    status: 401,
    explanation:
      'The authtoken of the agent is not one of this server. Make one with POST /credentials and give it to the agent.',
  },
  ERR_POSTERN_AGENT_REVOKED: {
    status: 401,
    explanation: 'The credential that the agent logged in with was deleted. Give the agent another one.',
  },
  ERR_POSTERN_AGENT_PROTOCOL: {
    status: 400,
    explanation: 'Agent and server do not speak the same protocol. Use the same version of both.',
  },
  ERR_POSTERN_AGENT_REPLACED: {
    status: 409,
    explanation: 'Another run of the agent has taken this session or its name over.',
  },
  ERR_POSTERN_AGENT_SESSION: {
    status: 404,
    explanation: 'The session that a connection wants to join does not exist, or the agent does not know its secret.',
  },
  ERR_POSTERN_AGENT_CONNECTIONS: {
    status: 429,
    explanation:
      'The session of the agent has 16 connections, and may not have more. Those that were lost count for up to 12 seconds. Start another agent for more.',
  },
  ERR_POSTERN_TUNNEL_ACL: {
    status: 403,
    explanation: "The acl of the agent's credential does not allow this name, label or module.",
  },
  ERR_POSTERN_TUNNEL_NAME_TAKEN: {
    status: 409,
    explanation: 'The name that a tunnel asks for belongs to an edge or to another tunnel.',
  },
  ERR_POSTERN_TUNNEL_INVALID: {
    status: 400,
    explanation: 'What a tunnel asks for cannot be: a field is wrong, missing, or does not go with the protocol.',
  },
  ERR_POSTERN_TUNNEL_LIMIT: {
    status: 429,
    explanation: 'The agent has as many tunnels open as one session may have.',
  },
  ERR_POSTERN_TUNNEL_PORT: {
    status: 409,
    explanation: 'No port for a tcp tunnel is free, or the one that was asked for is not.',
  },
  ERR_POSTERN_GATEWAY_DRAINING: {
    status: 503,
    explanation: 'The server is being stopped. The agent connects again by itself.',
  },
});

export type GatewayErrorCode = keyof typeof gatewayErrors.rows;
