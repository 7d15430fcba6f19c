import type { Http2Session } from 'node:http2';
import type { Socket } from 'node:net';
import { guarded, reporting } from '../guarded-listeners.ts';

const OWNER = reporting('end of an HTTP/2 session');

/**
 * Destroys a session in a later turn, and then its socket if one is given. The caller ignores what arrives until then.
 *
 * `session.destroy()` sends what is waiting at once. In the event that reports a reset stream, with a new request
 * waiting on the same session, the runtime frees the reset stream twice and aborts the process ("Assertion failed:
 * (current_nghttp2_memory_) >= (previous_size)", Node 26.10).
 */
export function destroySession(session: Http2Session, socket: Socket | null, error?: Error): void {
  if (session.destroyed && socket?.destroyed !== false) return;
  setImmediate(
    guarded(OWNER, () => {
      session.destroy(error);
      socket?.destroy();
    }),
  );
}
