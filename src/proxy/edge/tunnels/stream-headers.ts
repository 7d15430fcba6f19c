// Headers of the streams to an agent. `docs/reference/tunnel-protocol.md` documents them.

/** On a request: the id of its tunnel. */
export const TUNNEL_HEADER = 'postern-tunnel';
/** On a TCP or TLS connection: the client's address, as `ip:port`. */
export const CLIENT_ADDRESS_HEADER = 'postern-client-address';
/** On a response of the agent itself: why its local service could not be reached, and its address. */
export const TUNNEL_ERROR_HEADER = 'postern-tunnel-error';
export const TUNNEL_ADDRESS_HEADER = 'postern-tunnel-address';
/** On a 502 to a WebSocket handshake: the 2xx status of the service, which would mean on the stream that it is open. */
export const TUNNEL_STATUS_HEADER = 'postern-tunnel-status';

// Headers between nodes and threads of one installation, which no agent sees.

/** From the main thread to a worker, on the response of a connection or WebSocket: the node that passes it on. */
export const TUNNEL_NODE_HEADER = 'postern-tunnel-node';

/** From a node or thread to another one, on a request: the address whose share of the agent's streams it uses. */
export const VISITOR_HEADER = 'postern-visitor';
