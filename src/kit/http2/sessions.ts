import type { ClientHttp2Session, ClientHttp2Stream, Http2Session, ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import { guarded, listenOnce, listenOnceFirst, reporting } from '../guarded-listeners.ts';
import { SharedPlaces } from '../net/shared-places.ts';
import { MAX_SEND_BLOCK_BYTES } from './heads.ts';

const ENDING = reporting('end of an HTTP/2 session');

/**
 * Destroys a session in a later turn, and then its socket if one is given. The caller ignores what arrives until then.
 *
 * `session.destroy()` sends what is waiting at once. In the event that reports a reset stream, with a new request
 * waiting on the same session, the runtime frees the reset stream twice and aborts the process ("Assertion failed:
 * (current_nghttp2_memory_) >= (previous_size)", Node 26.10).
 */
export function destroySession(session: Http2Session, socket: Socket | null, error?: Error, code?: number): void {
  if (session.destroyed && socket?.destroyed !== false) return;
  setImmediate(
    guarded(ENDING, () => {
      session.destroy(error, code);
      socket?.destroy();
    }),
  );
}

type Session = ClientHttp2Session | ServerHttp2Session;

/** The runtime's native part of a session, in C++. */
interface NativeSession {
  destroy(code: number, isSocketDestroyed: boolean): void;
}

const OWNER = reporting('HTTP/2 session');
/**
 * A stream is freed by the first full collection that starts after its session has closed. The first report may concern
 * a collection that ended before, and the second one that had already marked the stream.
 */
const COLLECTIONS = 3;
const open = new Set<NativeSession>();
/** Closed sessions, by the number of collections since. */
let closed = Array.from({ length: COLLECTIONS }, () => new Set<NativeSession>());
let isCollectionAwaited = false;
const collections = new FinalizationRegistry(onCollection);

/**
 * Prevents a peer from aborting the process. Call it as soon as the session exists.
 *
 * An unfinished header block (trailers, or the head of a response) uses memory of the session, held by its stream. The
 * runtime asserts that a session gets all its memory back before it is freed: "Assertion failed:
 * (current_nghttp2_memory_) == (0)". But a stream that is destroyed while the socket is still writing its data leaves
 * the session and waits for the garbage collector. It holds the memory longer than the session lives in two cases (Node
 * 26.10; CVE-2024-27983 was the same for streams that are still open):
 *
 * 1. The socket fails. The session then stops listening for the end of that write, and the write refers to the stream
 *    forever. So the native session is destroyed only after the socket has closed, which ends all writes.
 * 2. One garbage collection frees both, the session first. So a closed session is kept until its streams are freed.
 *
 * docs/internals/decisions/0021-http2-sessions-outlive-streams.md lists the frames that caused it.
 */
export function outliveStreams(session: Session, socket: Socket): void {
  const native = nativePart(session);
  if (native === null) {
    if (session.connecting) listenOnce(session, 'connect', OWNER, () => outliveStreams(session, socket));
    return;
  }
  destroyAfterWrites(native, socket);
  open.add(native);
  listenOnce(session, 'close', OWNER, () => {
    open.delete(native);
    closed[0]?.add(native);
    awaitCollection();
  });
}

/** Null before the session's socket connects, and after its end. */
function nativePart(session: Session): NativeSession | null {
  const key = Object.getOwnPropertySymbols(session).find(({ description }) => description === 'kHandle');
  return key === undefined ? null : ((session as unknown as Record<symbol, NativeSession | undefined>)[key] ?? null);
}

function destroyAfterWrites(native: NativeSession, socket: Socket): void {
  const destroy = native.destroy.bind(native);
  // A destroyed socket may already have emitted `close`, and carries no streams.
  let isSocketClosed = socket.destroyed;
  let destroyLater: (() => void) | null = null;
  // Before the runtime's own listener, which would destroy the session a second time, without the socket's error.
  listenOnceFirst(socket, 'close', OWNER, () => {
    isSocketClosed = true;
    destroyLater?.();
  });
  native.destroy = (code, isSocketDestroyed) => {
    // `socket.closed` does not work here: it is true before the writes have ended.
    if (isSocketClosed || !isSocketDestroyed) destroy(code, isSocketDestroyed);
    else destroyLater = () => destroy(code, true);
  };
}

/** Nothing refers to the registered object, so the registry reports the next full collection. */
function awaitCollection(): void {
  if (isCollectionAwaited) return;
  isCollectionAwaited = true;
  collections.register({}, null);
}

function onCollection(): void {
  isCollectionAwaited = false;
  closed = [new Set(), ...closed.slice(0, -1)];
  if (closed.some(({ size }) => size > 0)) awaitCollection();
}

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
