/** Names and numbers of the protocol between agent and gateway, documented in `docs/reference/tunnel-protocol.md`. */

// What the edge writes on the streams itself.
export {
  CLIENT_ADDRESS_HEADER,
  TUNNEL_ADDRESS_HEADER,
  TUNNEL_ERROR_HEADER,
  TUNNEL_HEADER,
  TUNNEL_STATUS_HEADER,
} from '../../proxy/edge/tunnels/stream-headers.ts';

export const ALPN = 'postern/1';
export const PROTOCOL_VERSION = 1;

/** The stream that carries control messages; the gateway opens it first. */
export const CONTROL_PATH = '/control';
export const CONTROL_AUTHORITY = 'gateway';

/** One line of a control stream, including its end. */
export const MAX_MESSAGE_BYTES = 65_536;
/**
 * Messages allowed in a burst, and per second in the long run. One message per tunnel: a thousand tunnels bind within
 * seconds. A long one counts once more for each `MESSAGE_UNIT_BYTES`: a burst of the longest would be a hundred
 * megabytes.
 */
export const MESSAGE_BURST = 2_000;
export const MESSAGES_PER_SECOND = 200;
export const MESSAGE_UNIT_BYTES = 8_192;
export const MAX_TUNNELS_PER_SESSION = 1_000;
/** What an agent may report about its machine, for the server's list of problems. */
export const MAX_PROBLEMS = 20;
export const MAX_PROBLEM_LENGTH = 400;

export const HELLO_TIMEOUT_MS = 10_000;
/** Silent for this long: ping. Silent for longer: the peer is gone, whatever TCP reports. */
export const PING_AFTER_MS = 5_000;
export const DEAD_AFTER_MS = 12_000;

/** Requests and connections at the same time on one connection of an agent. */
export const MAX_STREAMS_PER_CONNECTION = 1_000;
export const CONNECTIONS_PER_SESSION = 2;
/** A server with several workers asks for one connection for each, up to this number. */
export const MAX_WANTED_CONNECTIONS = 4;
/** An agent whose streams are in use opens more than the server asks for, up to this number. */
export const MAX_BUSY_CONNECTIONS = 8;
/** Including those that are being replaced. */
export const MAX_CONNECTIONS_PER_SESSION = 16;
/** Nodes that a `welcome` or `nodes` message may list beside the sender. */
export const MAX_OTHER_NODES = 32;
