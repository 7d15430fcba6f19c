import assert from 'node:assert/strict';
import { type ClientHttp2Session, constants } from 'node:http2';

/** The shortest `edge_idle_timeout` of these tests. */
const SHORTEST_IDLE_MS = 1_000;

/**
 * Requests on one connection. If the edge closed it because it was idle, which takes a busy machine, the client
 * connects again as every client does. It must have been idle: a connection in use has to stay. A request is repeated
 * only if the GOAWAY says that the edge has not processed it (RFC 9113 §8.7).
 */
export class HonestHttp2 {
  readonly #connect: () => Promise<ClientHttp2Session>;
  #session: ClientHttp2Session | null = null;
  #lastSentAtMs = 0;

  constructor(connect: () => Promise<ClientHttp2Session>) {
    this.#connect = connect;
  }

  async status(path: string): Promise<unknown> {
    for (;;) {
      const session = this.#session ?? (await this.#connect());
      this.#session = session;
      const outcome = session.closed || session.destroyed ? 'unprocessed' : await this.#send(session, path);
      if (outcome !== 'unprocessed') return outcome;
      this.#session = null;
      const idleMs = performance.now() - this.#lastSentAtMs;
      assert.ok(idleMs >= SHORTEST_IDLE_MS, `the edge closed a connection that was idle for ${Math.round(idleMs)} ms`);
    }
  }

  close(): void {
    this.#session?.destroy();
  }

  async #send(session: ClientHttp2Session, path: string): Promise<unknown> {
    const sentAtMs = performance.now();
    const stream = session.request({ ':path': path });
    const answered = new Promise<unknown>((resolve, reject) => {
      stream.once('response', (headers) => resolve(headers[':status'])).once('error', reject);
      stream.resume();
    });
    try {
      const status = await answered;
      this.#lastSentAtMs = sentAtMs;
      return status;
    } catch (error) {
      if (stream.rstCode === constants.NGHTTP2_REFUSED_STREAM && session.closed) return 'unprocessed';
      throw error;
    }
  }
}
