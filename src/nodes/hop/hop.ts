import {
  type ClientHttp2Stream,
  constants,
  type Http2Stream,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AgentLink, OnlineTunnel } from '../../edge/tunnels/online-tunnels.ts';
import { reportBug } from '../../lib/bug-report.ts';
import { ignoreErrors, type ListenerOwner, listen, listenOnce } from '../../lib/guarded-listeners.ts';
import { resetStream } from '../../lib/http2-reset.ts';
import { hasStreamEnd, watchStreamEnd } from '../../lib/http2-stream-end.ts';
import { bufferPassed } from '../../lib/passing-buffers.ts';
import { headerObject } from '../../upstream/header-object.ts';
import { BODY_WANTED } from '../../upstream/http2-exchange.ts';
import { isSessionOver, isUnsendable } from '../../upstream/unsendable.ts';

type Head = Readonly<Record<string, unknown>>;
type Raw = readonly string[];

const { NGHTTP2_CANCEL, NGHTTP2_FLAG_END_STREAM, NGHTTP2_INTERNAL_ERROR } = constants;
const { NGHTTP2_NO_ERROR, NGHTTP2_PROTOCOL_ERROR, NGHTTP2_REFUSED_STREAM } = constants;
const NO_TRAILERS: Raw = [];

/**
 * One stream of another node, copied to an agent's connection and back: heads, bodies with back-pressure, trailers, ends
 * and resets with their codes. It changes nothing, and has no deadlines: the node with the client has them. It is over
 * when both streams are closed.
 */
export class Hop implements ListenerOwner {
  readonly #peer: ServerHttp2Stream;
  readonly #tunnel: OnlineTunnel;
  readonly #link: AgentLink;
  #agent: ClientHttp2Stream | null = null;
  #isRequestWhole = false;
  #isResponseWhole = false;
  #requestTrailers = NO_TRAILERS;
  #trailers = NO_TRAILERS;

  constructor(peer: ServerHttp2Stream, tunnel: OnlineTunnel, link: AgentLink) {
    this.#peer = peer;
    this.#tunnel = tunnel;
    this.#link = link;
  }

  start(headers: IncomingHttpHeaders, raw: Raw): void {
    const peer = this.#peer;
    const isSwitch = headers[':method'] === 'CONNECT';
    const hasBody = !peer.endAfterHeaders;
    const waitForTrailers = hasBody && !isSwitch && headers['content-length'] === undefined;
    const agent = this.#open(raw, { endStream: !hasBody, waitForTrailers });
    if (agent === null) return;
    this.#agent = agent;
    this.#tunnel.inFlight += 1;
    watchStreamEnd(agent);
    ignoreErrors(agent);
    listenOnce(agent, 'close', this, () => this.#agentClosed(agent));
    listenOnce(peer, 'close', this, () => this.#peerClosed(agent));
    this.#carryResponse(agent, isSwitch);
    this.#isRequestWhole = !hasBody;
    if (hasBody) this.#carryRequest(agent, waitForTrailers);
    if (hasBody && !isSwitch) peer.additionalHeaders({ ':status': BODY_WANTED });
  }

  /** The connections are shared with other streams, which are not affected. */
  contain(error: unknown): void {
    reportBug(error, { part: 'hop' });
    this.#breakOff(NGHTTP2_INTERNAL_ERROR);
  }

  #open(
    raw: Raw,
    options: { readonly endStream: boolean; readonly waitForTrailers: boolean },
  ): ClientHttp2Stream | null {
    try {
      return this.#link.request(raw, options);
    } catch (error) {
      if (!isUnsendable(error)) throw error;
      // The agent's connection has just ended: another node may have one. Or the other node sent what no agent may get.
      resetStream(this.#peer, isSessionOver(error) ? NGHTTP2_REFUSED_STREAM : NGHTTP2_PROTOCOL_ERROR);
      return null;
    }
  }

  #carryRequest(agent: ClientHttp2Stream, hasTrailers: boolean): void {
    const peer = this.#peer;
    listen(peer, 'data', this, (chunk: Buffer) => {
      bufferPassed(chunk.length);
      if (agent.writable && !agent.write(chunk)) peer.pause();
    });
    listen(agent, 'drain', this, () => peer.resume());
    listenOnce(peer, 'end', this, () => {
      // A truncated stream also ends; its reset follows.
      if (!hasStreamEnd(peer)) return;
      this.#isRequestWhole = true;
      agent.end();
    });
    if (!hasTrailers) return;
    listenOnce(peer, 'trailers', this, (_head: unknown, _flags: number, raw: Raw) => {
      this.#requestTrailers = raw;
    });
    listenOnce(agent, 'wantTrailers', this, () =>
      this.#attempt(agent, () => agent.sendTrailers(headerObject(this.#requestTrailers))),
    );
  }

  #carryResponse(agent: ClientHttp2Stream, isSwitch: boolean): void {
    const peer = this.#peer;
    listen(agent, 'headers', this, (_head: Head, _flags: number, raw: Raw) =>
      this.#attempt(peer, () => peer.additionalHeaders(headerObject(raw))),
    );
    listenOnce(agent, 'response', this, (head: Head, flags: number, raw: Raw) =>
      this.#attempt(peer, () => this.#respond(agent, head, flags, raw, isSwitch)),
    );
    listen(agent, 'data', this, (chunk: Buffer) => {
      bufferPassed(chunk.length);
      if (peer.writable && !peer.write(chunk)) agent.pause();
    });
    listenOnce(agent, 'end', this, () => {
      if (!hasStreamEnd(agent)) return;
      this.#isResponseWhole = true;
      if (peer.writable) peer.end();
    });
  }

  #respond(agent: ClientHttp2Stream, head: Head, flags: number, raw: Raw, isSwitch: boolean): void {
    const peer = this.#peer;
    const endStream = (flags & NGHTTP2_FLAG_END_STREAM) !== 0;
    const waitForTrailers = !endStream && !isSwitch && head['content-length'] === undefined;
    peer.respond(raw as string[], { endStream, waitForTrailers });
    if (endStream) return;
    listen(peer, 'drain', this, () => agent.resume());
    if (!waitForTrailers) return;
    listenOnce(agent, 'trailers', this, (_head: unknown, _flags: number, trailers: Raw) => {
      this.#trailers = trailers;
    });
    listenOnce(peer, 'wantTrailers', this, () =>
      this.#attempt(peer, () => peer.sendTrailers(headerObject(this.#trailers))),
    );
  }

  /** The runtime throws at messages that it cannot send. */
  #attempt(to: Http2Stream, send: () => void): void {
    if (to.destroyed || to.closed) return;
    try {
      send();
    } catch (error) {
      if (!isUnsendable(error)) throw error;
      this.#breakOff(NGHTTP2_PROTOCOL_ERROR);
    }
  }

  #agentClosed({ rstCode }: ClientHttp2Stream): void {
    this.#link.release();
    this.#tunnel.inFlight -= 1;
    if (!this.#isResponseWhole) resetStream(this.#peer, rstCode);
    // The service reads no more. The reset waits for the end of the response (RFC 9113 §8.1).
    else if (!this.#isRequestWhole && !this.#peer.closed) this.#peer.close(NGHTTP2_NO_ERROR);
    this.#peer.resume();
  }

  #peerClosed(agent: ClientHttp2Stream): void {
    const { rstCode } = this.#peer;
    const isWhole = this.#isRequestWhole && this.#isResponseWhole;
    if (!isWhole) resetStream(agent, rstCode === NGHTTP2_NO_ERROR ? NGHTTP2_CANCEL : rstCode);
    // Data left in its buffers would keep the stream alive, with its share of the session's window.
    agent.resume();
  }

  #breakOff(code: number): void {
    resetStream(this.#peer, code);
    if (this.#agent !== null) resetStream(this.#agent, code);
  }
}
