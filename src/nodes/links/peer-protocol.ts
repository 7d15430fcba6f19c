/** Names and numbers of the protocol between nodes. A change that an older node cannot read needs another ALPN name. */

export const PEER_ALPN = 'postern-peer/1';

/** Calls and feeds of the node itself. Streams for agents name a tunnel. */
export const NODE_AUTHORITY = 'node';
export const CALL_PATH = '/call/';
export const FEED_PATH = '/feed/';
/** The channel for requests. Another version of the channel gets another path. */
export const CHANNEL_PATH = '/channel/1';

/** A call's message or its answer. */
export const MAX_CALL_BYTES = 65_536;
/** Calls in progress: of one calling node, and of this node to all others. */
export const MAX_CALLS = 1_000;
export const CALL_TIMEOUT_MS = 2_000;
/** Feeds per connection. */
export const MAX_FEEDS = 16;

/** Most other nodes of an installation, and connections that one of those nodes may have open to this node. */
export const MAX_PEERS = 64;
export const MAX_CONNECTIONS_PER_PEER = 4;
/** Streams of all visitors whose agents are connected to one other node. */
export const MAX_STREAMS = 20_000;

export const DIAL_TIMEOUT_MS = 1_500;
/** Time for the last bytes to be sent before a connection closes. */
export const FLUSH_WITHIN_MS = 1_000;
