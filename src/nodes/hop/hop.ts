import {
  type ClientHttp2Stream,
  constants,
  type Http2Stream,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AgentLink, OnlineTunnel } from '../../edge/tunnels/online-tunnels.ts';
import { reportBug } from '../../lib/bug-report.ts';
import { sendInformational, sendResponse, sendTrailers } from '../../lib/http2-heads.ts';
import { resetStream } from '../../lib/http2-reset.ts';
import { readMore, type StreamTaker, takeStream } from '../../lib/http2-taken-stream.ts';
import { neverIndexed } from '../../lib/never-indexed.ts';
import { bufferPassed } from '../../lib/passing-buffers.ts';
import type { HopTrace } from '../../tracing/hop-trace.ts';
import { BODY_WANTED } from '../../upstream/http2-carrier.ts';
import { MAX_INFORMATIONAL } from '../../upstream/max-informational.ts';
import { isSessionOver, isUnsendable } from '../../upstream/unsendable.ts';
import { PassedFrames } from './passed-frames.ts';
import { closeComplete, endStream } from './stream-ends.ts';

type Head = Readonly<Record<string, unknown>>;
type Raw = readonly string[];

const { NGHTTP2_CANCEL, NGHTTP2_ENHANCE_YOUR_CALM, NGHTTP2_FLAG_END_STREAM, NGHTTP2_INTERNAL_ERROR } = constants;
const { NGHTTP2_NO_ERROR, NGHTTP2_PROTOCOL_ERROR, NGHTTP2_REFUSED_STREAM } = constants;
const NO_TRAILERS: Raw = [];
/** Below the smallest window of a stream. */
const SMALL_BYTES = 65_535;

export interface HopParts {
  readonly tunnel: OnlineTunnel;
  readonly link: AgentLink;
  /** Null: nothing is recorded. */
  readonly trace: HopTrace | null;
  readonly isWebSocket: boolean;
  /** Called once, when the other node's stream has closed. */
  readonly onClosed: () => void;
}

/**
 * One stream of another node, copied to an agent's connection and back: heads, bodies with back-pressure, trailers, ends
 * and resets with their codes. It changes nothing, and has no deadlines: the node with the client has them. It is over
 * when both streams are closed.
 */
export class Hop implements StreamTaker {
  readonly #peer: ServerHttp2Stream;
  readonly #tunnel: OnlineTunnel;
  readonly #link: AgentLink;
  readonly #trace: HopTrace | null;
  readonly #onClosed: () => void;
  #agent: ClientHttp2Stream | null = null;
  #isSwitch = false;
  /** Null: it is no WebSocket, or the service refused it. */
  #frames: PassedFrames | null;
  /** NaN without a declared length. The last bytes go with the end of the stream, in one frame. */
  #requestBytesLeft = Number.NaN;
  #responseBytesLeft = Number.NaN;
  #isRequestWhole = false;
  #isResponseWhole = false;
  #isResponseEnded = false;
  #hasHead = false;
  #informational = 0;
  /** Both streams are about to be reset: nothing more is sent. */
  #isBroken = false;
  /** Data that came before its head was forwarded. */
  #early: Buffer[] | null = null;
  #awaitsRequestTrailers = false;
  #awaitsTrailers = false;
  /** The service reads no more, and its response is whole, but not sent. */
  #closesAfterTrailers = false;
  #requestTrailers = NO_TRAILERS;
  #trailers = NO_TRAILERS;

  /** Takes the stream. */
  constructor(peer: ServerHttp2Stream, { tunnel, link, trace, isWebSocket, onClosed }: HopParts) {
    this.#peer = peer;
    this.#tunnel = tunnel;
    this.#link = link;
    this.#trace = trace;
    this.#frames = isWebSocket ? new PassedFrames() : null;
    this.#onClosed = onClosed;
    takeStream(peer, this);
  }

  start(headers: IncomingHttpHeaders, raw: Raw): void {
    try {
      this.#start(headers, raw);
    } catch (error) {
      this.contain(error);
    }
  }

  #start(headers: IncomingHttpHeaders, raw: Raw): void {
    const peer = this.#peer;
    const isSwitch = headers[':method'] === 'CONNECT';
    const hasBody = !peer.endAfterHeaders;
    const length = headers['content-length'];
    this.#awaitsRequestTrailers = hasBody && !isSwitch && length === undefined;
    const agent = this.#open(raw, { endStream: !hasBody, waitForTrailers: this.#awaitsRequestTrailers });
    if (agent === null) return;
    this.#agent = agent;
    this.#isSwitch = isSwitch;
    this.#tunnel.inFlight += 1;
    this.#tunnel.use.hopsInFlight += 1;
    this.#isRequestWhole = !hasBody;
    if (hasBody && !isSwitch && length !== undefined) this.#requestBytesLeft = Number(length);
    takeStream(agent, this);
    // Also without a body: the runtime resets a stream that has responded and that nobody ever read.
    readMore(peer);
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
      return this.#link.request(neverIndexed(raw), options);
    } catch (error) {
      if (!isUnsendable(error)) throw error;
      // The agent's connection has just ended: another node may have one. Or the other node sent what no agent may get.
      this.#breakOff(isSessionOver(error) ? NGHTTP2_REFUSED_STREAM : NGHTTP2_PROTOCOL_ERROR);
      return null;
    }
  }

  onEvent(stream: Http2Stream, event: string | symbol, head: unknown, flags: unknown, raw: unknown): boolean {
    return stream === this.#peer
      ? this.#onPeerEvent(event, raw as Raw)
      : this.#onAgentEvent(event, head as Head, flags as number, raw as Raw);
  }

  onData(stream: Http2Stream, chunk: Buffer): boolean {
    bufferPassed(chunk.length);
    if (this.#isBroken) return true;
    if (this.#frames !== null) return this.#passFrames(this.#frames, stream, chunk);
    return this.#pass(stream, chunk);
  }

  #pass(stream: Http2Stream, chunk: Buffer): boolean {
    if (stream === this.#peer) return this.#sendToAgent(chunk);
    if (this.#hasHead) return this.#sendToPeer(chunk);
    this.#early ??= [];
    this.#early.push(chunk);
    return true;
  }

  #passFrames(frames: PassedFrames, stream: Http2Stream, chunk: Buffer): boolean {
    const direction = stream === this.#peer ? frames.toService : frames.toClient;
    if (direction.isClosed) return true;
    if (!frames.isClosing || !this.#hasHead) {
      direction.pass(chunk);
      return this.#pass(stream, chunk);
    }
    // A busy service never sends a chunk that ends with a frame.
    const hasRoom = this.#pass(stream, chunk.subarray(0, direction.passFrame(chunk)));
    this.#goAway();
    // What follows is dropped.
    return direction.isClosed || hasRoom;
  }

  /** Closes a WebSocket cleanly. */
  goAway(): void {
    if (this.#frames === null) return;
    this.#frames.isClosing = true;
    try {
      this.#goAway();
    } catch (error) {
      this.contain(error);
    }
  }

  /** Cuts a WebSocket whose ends did not close it. */
  cut(): void {
    this.#breakOff(this.#isRequestWhole && this.#isResponseWhole ? NGHTTP2_NO_ERROR : NGHTTP2_CANCEL);
  }

  /** Ends both directions together: a service that sees the end may not finish its current frame. */
  #goAway(): void {
    if (this.#frames === null || !this.#hasHead || this.#isBroken) return;
    const [peer, agent] = [this.#peer, this.#agent as ClientHttp2Stream];
    if (!this.#frames.close(peer, agent)) return;
    this.#isRequestWhole = true;
    this.#endResponse();
    endStream(agent, false);
    for (const stream of [peer, agent]) readMore(stream);
  }

  onEnd(stream: Http2Stream): void {
    if (this.#isBroken) return;
    if (stream === this.#peer) {
      this.#isRequestWhole = true;
      endStream(this.#agent as ClientHttp2Stream, this.#awaitsRequestTrailers);
    } else {
      this.#isResponseEnded = true;
      if (this.#hasHead) this.#endResponse();
    }
  }

  #onPeerEvent(event: string | symbol, raw: Raw): boolean {
    switch (event) {
      case 'drain':
        readMore(this.#agent as ClientHttp2Stream);
        return true;
      case 'trailers':
        this.#requestTrailers = raw;
        return true;
      case 'wantTrailers':
        this.#attempt(this.#peer, () => sendTrailers(this.#peer, this.#trailers));
        // The runtime sends them in an immediate, which comes first.
        if (this.#closesAfterTrailers) setImmediate(closeComplete, this.#peer);
        return true;
      case 'close':
        this.#onPeerClose();
        return true;
      default:
        // An error is followed by `close`.
        return event === 'error';
    }
  }

  #onAgentEvent(event: string | symbol, head: Head, flags: number, raw: Raw): boolean {
    const agent = this.#agent as ClientHttp2Stream;
    switch (event) {
      case 'headers':
        this.#onInformational(raw);
        return true;
      case 'response':
        this.#hasHead = true;
        this.#attempt(this.#peer, () => this.#respond(head, flags, raw));
        return true;
      case 'drain':
        readMore(this.#peer);
        return true;
      case 'trailers':
        this.#trailers = raw;
        return true;
      case 'wantTrailers':
        this.#attempt(agent, () => sendTrailers(agent, this.#requestTrailers));
        return true;
      case 'close':
        this.#onAgentClose();
        return true;
      default:
        return event === 'error';
    }
  }

  #onInformational(raw: Raw): void {
    this.#informational += 1;
    if (this.#informational > MAX_INFORMATIONAL) this.#breakOff(NGHTTP2_ENHANCE_YOUR_CALM);
    else this.#attempt(this.#peer, () => sendInformational(this.#peer, raw));
  }

  #sendToAgent(chunk: Buffer): boolean {
    const agent = this.#agent as ClientHttp2Stream;
    this.#requestBytesLeft -= chunk.length;
    if (!agent.writable) return true;
    if (this.#requestBytesLeft !== 0) return agent.write(chunk);
    this.#isRequestWhole = true;
    agent.end(chunk);
    return true;
  }

  #sendToPeer(chunk: Buffer): boolean {
    const peer = this.#peer;
    this.#responseBytesLeft -= chunk.length;
    if (!peer.writable) return true;
    if (this.#responseBytesLeft !== 0) return peer.write(chunk);
    this.#isResponseWhole = true;
    peer.end(chunk);
    return true;
  }

  #respond(head: Head, flags: number, raw: Raw): void {
    const agent = this.#agent as ClientHttp2Stream;
    const isEnded = (flags & NGHTTP2_FLAG_END_STREAM) !== 0;
    const length = head['content-length'];
    this.#awaitsTrailers = !isEnded && !this.#isSwitch && length === undefined;
    sendResponse(this.#peer, raw, { endStream: isEnded, waitForTrailers: this.#awaitsTrailers });
    this.#trace?.answered(head[':status']);
    if (head[':status'] !== 200) this.#frames = null;
    if (!this.#isSwitch && length !== undefined) this.#responseBytesLeft = Number(length);
    // A smaller response needs nothing of its window back.
    if (!(this.#responseBytesLeft <= SMALL_BYTES)) readMore(agent);
    if (isEnded) this.#isResponseWhole = true;
    for (const chunk of this.#early ?? []) this.#sendToPeer(chunk);
    if (this.#isResponseEnded) this.#endResponse();
    if (this.#frames?.isClosing === true) this.#goAway();
  }

  #endResponse(): void {
    this.#isResponseWhole = true;
    endStream(this.#peer, this.#awaitsTrailers);
  }

  /** The runtime throws at messages that it cannot send. */
  #attempt(to: Http2Stream, send: () => void): void {
    if (this.#isBroken || to.destroyed || to.closed) return;
    try {
      send();
    } catch (error) {
      if (!isUnsendable(error)) throw error;
      this.#breakOff(NGHTTP2_PROTOCOL_ERROR);
    }
  }

  #onAgentClose(): void {
    const peer = this.#peer;
    this.#link.release();
    this.#tunnel.inFlight -= 1;
    this.#tunnel.use.hopsInFlight -= 1;
    if (!this.#isResponseWhole) resetStream(peer, (this.#agent as ClientHttp2Stream).rstCode);
    // The service reads no more. The reset waits for the end of the response (RFC 9113 §8.1).
    else if (!this.#isRequestWhole) {
      if (!this.#awaitsTrailers) closeComplete(peer);
      else if (peer.sentTrailers === undefined) this.#closesAfterTrailers = true;
      else setImmediate(closeComplete, peer);
    }
    // Data that waits would keep the stream alive, with its share of the session's window.
    if (!this.#isRequestWhole) readMore(peer);
  }

  #onPeerClose(): void {
    const { rstCode } = this.#peer;
    const agent = this.#agent;
    const isWhole = this.#isRequestWhole && this.#isResponseWhole;
    this.#onClosed();
    this.#trace?.ended(rstCode === NGHTTP2_NO_ERROR);
    if (isWhole || agent === null) return;
    resetStream(agent, rstCode === NGHTTP2_NO_ERROR ? NGHTTP2_CANCEL : rstCode);
    readMore(agent);
  }

  #breakOff(code: number): void {
    this.#isBroken = true;
    resetStream(this.#peer, code);
    if (this.#agent !== null) resetStream(this.#agent, code);
  }
}
