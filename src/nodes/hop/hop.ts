import {
  type ClientHttp2Stream,
  constants,
  type Http2Stream,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AgentLink, OnlineTunnel } from '../../edge/tunnels/online-tunnels.ts';
import { reportBug } from '../../lib/bug-report.ts';
import { ignoreErrors, type ListenerOwner, listenShared, own, shared } from '../../lib/guarded-listeners.ts';
import { resetStream } from '../../lib/http2-reset.ts';
import { hasStreamEnd, watchStreamEnd } from '../../lib/http2-stream-end.ts';
import { bufferPassed } from '../../lib/passing-buffers.ts';
import type { HopTrace } from '../../tracing/hop-trace.ts';
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
  /** Null: nothing is recorded. */
  readonly #trace: HopTrace | null;
  #agent: ClientHttp2Stream | null = null;
  #isSwitch = false;
  /** NaN without a declared length. The last bytes go with the end of the stream, in one frame. */
  #requestBytesLeft = Number.NaN;
  #responseBytesLeft = Number.NaN;
  #isRequestWhole = false;
  #isResponseWhole = false;
  #requestTrailers = NO_TRAILERS;
  #trailers = NO_TRAILERS;

  constructor(peer: ServerHttp2Stream, tunnel: OnlineTunnel, link: AgentLink, trace: HopTrace | null) {
    this.#peer = peer;
    this.#tunnel = tunnel;
    this.#link = link;
    this.#trace = trace;
  }

  start(headers: IncomingHttpHeaders, raw: Raw): void {
    const peer = this.#peer;
    const isSwitch = headers[':method'] === 'CONNECT';
    const hasBody = !peer.endAfterHeaders;
    const length = headers['content-length'];
    const waitForTrailers = hasBody && !isSwitch && length === undefined;
    const agent = this.#open(raw, { endStream: !hasBody, waitForTrailers });
    if (agent === null) return;
    this.#agent = agent;
    this.#isSwitch = isSwitch;
    this.#tunnel.inFlight += 1;
    this.#tunnel.use.hopsInFlight += 1;
    watchStreamEnd(agent);
    ignoreErrors(agent);
    own(agent, this);
    own(peer, this);
    listenShared(agent, 'close', Hop.#onAgentClose);
    listenShared(peer, 'close', Hop.#onPeerClose);
    listenShared(agent, 'headers', Hop.#onInformational);
    listenShared(agent, 'response', Hop.#onResponse);
    listenShared(agent, 'data', Hop.#onAgentData);
    listenShared(agent, 'end', Hop.#onAgentEnd);
    this.#isRequestWhole = !hasBody;
    if (!hasBody) return;
    if (!isSwitch && length !== undefined) this.#requestBytesLeft = Number(length);
    listenShared(peer, 'data', Hop.#onPeerData);
    listenShared(peer, 'end', Hop.#onPeerEnd);
    listenShared(agent, 'drain', Hop.#onAgentDrain);
    if (waitForTrailers) {
      listenShared(peer, 'trailers', Hop.#onPeerTrailers);
      listenShared(agent, 'wantTrailers', Hop.#onAgentWantsTrailers);
    }
    if (!isSwitch) peer.additionalHeaders({ ':status': BODY_WANTED });
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

  static readonly #onPeerData = shared((hop: Hop, chunk: Buffer) => {
    bufferPassed(chunk.length);
    const { writable } = hop.#agent as ClientHttp2Stream;
    hop.#requestBytesLeft -= chunk.length;
    if (!writable) return;
    if (hop.#requestBytesLeft === 0) {
      hop.#isRequestWhole = true;
      hop.#agent?.end(chunk);
    } else if (hop.#agent?.write(chunk) === false) hop.#peer.pause();
  });

  static readonly #onAgentDrain = shared((hop: Hop) => void hop.#peer.resume());

  static readonly #onPeerEnd = shared((hop: Hop) => {
    // A truncated stream also ends; its reset follows.
    if (!hasStreamEnd(hop.#peer)) return;
    hop.#isRequestWhole = true;
    hop.#agent?.end();
  });

  static readonly #onPeerTrailers = shared((hop: Hop, _head: unknown, _flags: number, raw: Raw) => {
    hop.#requestTrailers = raw;
  });

  static readonly #onAgentWantsTrailers = shared((hop: Hop) => {
    const agent = hop.#agent as ClientHttp2Stream;
    hop.#attempt(agent, () => agent.sendTrailers(headerObject(hop.#requestTrailers)));
  });

  static readonly #onInformational = shared((hop: Hop, _head: Head, _flags: number, raw: Raw) =>
    hop.#attempt(hop.#peer, () => hop.#peer.additionalHeaders(headerObject(raw))),
  );

  static readonly #onResponse = shared((hop: Hop, head: Head, flags: number, raw: Raw) =>
    hop.#attempt(hop.#peer, () => hop.#respond(head, flags, raw)),
  );

  static readonly #onAgentData = shared((hop: Hop, chunk: Buffer) => {
    bufferPassed(chunk.length);
    const peer = hop.#peer;
    hop.#responseBytesLeft -= chunk.length;
    if (!peer.writable) return;
    if (hop.#responseBytesLeft === 0) {
      hop.#isResponseWhole = true;
      peer.end(chunk);
    } else if (!peer.write(chunk)) hop.#agent?.pause();
  });

  static readonly #onPeerDrain = shared((hop: Hop) => void hop.#agent?.resume());

  static readonly #onAgentEnd = shared((hop: Hop) => {
    if (!hasStreamEnd(hop.#agent as ClientHttp2Stream)) return;
    hop.#isResponseWhole = true;
    if (hop.#peer.writable) hop.#peer.end();
  });

  static readonly #onAgentTrailers = shared((hop: Hop, _head: unknown, _flags: number, raw: Raw) => {
    hop.#trailers = raw;
  });

  static readonly #onPeerWantsTrailers = shared((hop: Hop) =>
    hop.#attempt(hop.#peer, () => hop.#peer.sendTrailers(headerObject(hop.#trailers))),
  );

  #respond(head: Head, flags: number, raw: Raw): void {
    const peer = this.#peer;
    const agent = this.#agent as ClientHttp2Stream;
    const endStream = (flags & NGHTTP2_FLAG_END_STREAM) !== 0;
    const length = head['content-length'];
    const waitForTrailers = !endStream && !this.#isSwitch && length === undefined;
    peer.respond(raw as string[], { endStream, waitForTrailers });
    this.#trace?.answered(head[':status']);
    if (endStream) return;
    if (!this.#isSwitch && length !== undefined) this.#responseBytesLeft = Number(length);
    listenShared(peer, 'drain', Hop.#onPeerDrain);
    if (!waitForTrailers) return;
    listenShared(agent, 'trailers', Hop.#onAgentTrailers);
    listenShared(peer, 'wantTrailers', Hop.#onPeerWantsTrailers);
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

  static readonly #onAgentClose = shared((hop: Hop) => {
    const peer = hop.#peer;
    hop.#link.release();
    hop.#tunnel.inFlight -= 1;
    hop.#tunnel.use.hopsInFlight -= 1;
    if (!hop.#isResponseWhole) resetStream(peer, (hop.#agent as ClientHttp2Stream).rstCode);
    // The service reads no more. The reset waits for the end of the response (RFC 9113 §8.1).
    else if (!hop.#isRequestWhole && !peer.closed) peer.close(NGHTTP2_NO_ERROR);
    peer.resume();
  });

  static readonly #onPeerClose = shared((hop: Hop) => {
    const { rstCode } = hop.#peer;
    const agent = hop.#agent as ClientHttp2Stream;
    const isWhole = hop.#isRequestWhole && hop.#isResponseWhole;
    hop.#trace?.ended(rstCode === NGHTTP2_NO_ERROR);
    if (!isWhole) resetStream(agent, rstCode === NGHTTP2_NO_ERROR ? NGHTTP2_CANCEL : rstCode);
    // Data left in its buffers would keep the stream alive, with its share of the session's window.
    agent.resume();
  });

  #breakOff(code: number): void {
    resetStream(this.#peer, code);
    if (this.#agent !== null) resetStream(this.#agent, code);
  }
}
