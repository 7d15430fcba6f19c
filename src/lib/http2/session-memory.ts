/**
 * Option of HTTP/2 sessions: no limit of the runtime's own account of a session's memory. Every session needs it.
 *
 * The runtime adds the bytes that wait in a stream to the account when they are written, and subtracts them when they
 * are sent. A stream that ends before that, because either side reset it, frees its bytes, but they stay in the account
 * for the life of the session (`Http2Stream::Destroy`, Node 26.10). Once they reach the limit, a server refuses every
 * later request with ENHANCE_YOUR_CALM, and a client resets every later response: about a thousand cancelled downloads
 * used up a visitor's connection, and some thousand cancelled uploads an agent's, with all its tunnels.
 *
 * The memory of a session is bounded without it: the number of streams, the size of header blocks, and the data that
 * waits in each stream for its reader or its writer.
 */
export const UNLIMITED_SESSION_MEMORY = { maxSessionMemory: 2 ** 32 - 1 } as const;
