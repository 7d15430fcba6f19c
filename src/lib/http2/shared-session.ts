import type { ClientHttp2Stream } from 'node:http2';
import { SharedPlaces } from '../net/shared-places.ts';
import { MAX_SEND_BLOCK_BYTES } from './heads.ts';

/**
 * Option of HTTP/2 sessions: forward a repeated field as repeated. Without it the runtime throws when it sends
 * `Referer` or `X-Content-Type-Options` a second time, but HTTP leaves the meaning to the recipient (RFC 9110 §5.3).
 * The declared types have it for servers only.
 */
export const REPEATED_FIELDS = { strictSingleValueFields: false } as const;

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

const UNLIMITED = 2 ** 31;

/**
 * Options of sessions that many exchanges share, to upstreams and between programs of ours. The runtime counts invalid
 * messages and refused streams over the life of a session, and then ends it: after 1,000 and 100. Each of them ends one
 * exchange, and a visitor can cause them by asking for a page that an upstream answers badly. The declared types have
 * them for servers only.
 */
export const SHARED_SESSION = {
  ...UNLIMITED_SESSION_MEMORY,
  ...REPEATED_FIELDS,
  maxSendHeaderBlockLength: MAX_SEND_BLOCK_BYTES,
  maxSessionInvalidFrames: UNLIMITED,
  maxSessionRejectedStreams: UNLIMITED,
} as const;

const PLACE = Symbol('place');
type Placed = ClientHttp2Stream & { [PLACE]?: number | undefined };

/** The streams of a session, shared by the visitors for whom they are. A stream knows its own place. */
export class StreamPlaces extends SharedPlaces {
  take(stream: ClientHttp2Stream, visitor: string | undefined): void {
    (stream as Placed)[PLACE] = this.enter(visitor);
  }

  giveBack(stream: ClientHttp2Stream): void {
    const place = (stream as Placed)[PLACE];
    if (place === undefined) return;
    (stream as Placed)[PLACE] = undefined;
    this.leave(place);
  }
}
