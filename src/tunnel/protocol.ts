/** Names and numbers of the protocol between agent and gateway. `docs/reference/tunnel-protocol.md` tells it in words. */

export const ALPN = 'postern/1';
export const PROTOCOL_VERSION = 1;

/** The stream that carries control messages; the gateway opens it first of all. */
export const CONTROL_PATH = '/control';
export const CONTROL_AUTHORITY = 'gateway';

/** On a request: the tunnel that it is for. */
export const TUNNEL_HEADER = 'postern-tunnel';
/** On a TCP or TLS connection: who connected, as `ip:port`. */
export const CLIENT_ADDRESS_HEADER = 'postern-client-address';
/** On an answer of the agent's own: why its local service could not be reached, and where that should have been. */
export const TUNNEL_ERROR_HEADER = 'postern-tunnel-error';
export const TUNNEL_ADDRESS_HEADER = 'postern-tunnel-address';

/** A line of a control stream, its end included. */
export const MAX_MESSAGE_BYTES = 65_536;
/**
 * Messages that may come at once, and in the long run per second. A tunnel a message: a thousand tunnels bind within seconds. A long
 * one counts once more for each `MESSAGE_UNIT_BYTES`: a burst of the longest would be a hundred megabytes.
 */
export const MESSAGE_BURST = 2_000;
export const MESSAGES_PER_SECOND = 200;
export const MESSAGE_UNIT_BYTES = 8_192;
export const MAX_TUNNELS_PER_SESSION = 1_000;

export const HELLO_TIMEOUT_MS = 10_000;
/** Nothing heard for so long: ask. Nothing heard for longer: the other end is gone, whatever TCP says. */
export const PING_AFTER_MS = 5_000;
export const DEAD_AFTER_MS = 12_000;

export const CONNECTIONS_PER_SESSION = 2;
/** Those included that are being replaced. */
export const MAX_CONNECTIONS_PER_SESSION = 16;
