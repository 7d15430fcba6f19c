import { type ClientHttp2Stream, constants, type Http2Stream, type ServerHttp2Stream } from 'node:http2';
import { reportBug } from '../../../kit/guarded-listeners.ts';
import { withoutHeader } from '../../../kit/http/header-values.ts';
import { WebSocketDirection } from '../../../kit/http/web-sockets.ts';
import { neverIndexed, sendInformational, sendResponse } from '../../../kit/http2/heads.ts';
import { readMore, resetStream, type StreamTaker, takeStream } from '../../../kit/http2/stream-end.ts';
import { shortageOfCode } from '../../../kit/net/shared-places.ts';
import { bufferPassed } from '../../../kit/net/waiting-bytes.ts';
import type { AgentLink, OnlineTunnel } from '../../../proxy/edge/tunnels/online-tunnels.ts';
import { TUNNEL_NODE_HEADER } from '../../../proxy/edge/tunnels/stream-headers.ts';
import type { HopTrace } from '../../../proxy/tracing/request-trace.ts';
import { MAX_INFORMATIONAL } from '../../../proxy/upstream/upstream.ts';
import { isSessionOver, isUnsendable } from '../../../proxy/upstream/upstream-failure.ts';
import { rawFor } from './hop-headers.ts';

/** The frames of a WebSocket that passes through. */
class PassedFrames {
  readonly toClient = new WebSocketDirection('client');
  readonly toService = new WebSocketDirection('service');
  isClosing = false;

  /** Call `close` again after each frame. True: both directions are closed. */
  close(client: Http2Stream, service: Http2Stream): boolean {
    this.toClient.close(client);
    this.toService.close(service);
    return this.toClient.isClosed && this.toService.isClosed;
  }
}

function endStream(stream: Http2Stream): void {
  if (stream.writable) stream.end();
}

/** Asks the other node to stop sending. */
function closeComplete(stream: Http2Stream): void {
  if (!stream.closed) stream.close(constants.NGHTTP2_NO_ERROR);
}

type Head = Readonly<Record<string, unknown>>;
type Raw = readonly string[];

const { NGHTTP2_CANCEL, NGHTTP2_ENHANCE_YOUR_CALM, NGHTTP2_FLAG_END_STREAM, NGHTTP2_INTERNAL_ERROR } = constants;
const { NGHTTP2_NO_ERROR, NGHTTP2_PROTOCOL_ERROR, NGHTTP2_REFUSED_STREAM } = constants;

interface HopParts {
  readonly tunnel: OnlineTunnel;
  readonly link: AgentLink;
  /** Null: nothing is recorded. */
  readonly trace: HopTrace | null;
  readonly isWebSocket: boolean;
  readonly visitor: string | undefined;
  /**
   * For a worker: it hears which node has taken the stream. Absent: the stream is another node's, which looks for
   * further ways itself.
   */
  readonly nextLink?: (refused: AgentLink) => AgentLink | null;
  /** Called once, when the other node's stream has closed. */
  readonly onClosed: () => void;
}

/**
 * A connection or WebSocket of another node's client, copied to an agent's connection and back: heads, data with
 * back-pressure, ends and resets with their codes. A hop changes nothing, and has no deadlines: the node with the
 * client has them. A hop is over when both streams are closed. Plain requests are on the channel (`RequestHop`).
 */
export class Hop implements StreamTaker {
  readonly #peer: ServerHttp2Stream;
  readonly #tunnel: OnlineTunnel;
  readonly #nextLink: HopParts['nextLink'];
  #link: AgentLink;
  readonly #trace: HopTrace | null;
  readonly #visitor: string | undefined;
  readonly #onClosed: () => void;
  #agent: ClientHttp2Stream | null = null;
  /** Null: the hop is no WebSocket, or the service refused the WebSocket. */
  #frames: PassedFrames | null;
  #isRequestWhole = false;
  #isResponseWhole = false;
  #isResponseEnded = false;
  #hasHead = false;
  #informational = 0;
  /** Nothing has passed yet: another way can still get the stream. */
  #isUntouched = true;
  #raw: Raw = [];
  /** Why one of the ways did not take it: that is more than that another one is gone. */
  #shortageCode: number | null = null;
  /** Both streams are about to be reset: nothing more is sent. */
  #isBroken = false;
  /** Data that came before its head was forwarded. */
  #early: Buffer[] | null = null;

  /** Takes the stream. */
  constructor(peer: ServerHttp2Stream, { tunnel, link, trace, isWebSocket, visitor, nextLink, onClosed }: HopParts) {
    this.#peer = peer;
    this.#tunnel = tunnel;
    this.#link = link;
    this.#nextLink = nextLink;
    this.#trace = trace;
    this.#visitor = visitor;
    this.#frames = isWebSocket ? new PassedFrames() : null;
    this.#onClosed = onClosed;
    takeStream(peer, this);
  }

  start(raw: Raw): void {
    this.#raw = raw;
    try {
      this.#start();
    } catch (error) {
      this.contain(error);
    }
  }

  #start(): void {
    const peer = this.#peer;
    this.#isRequestWhole = peer.endAfterHeaders;
    const agent = this.#open({ endStream: this.#isRequestWhole, waitForTrailers: false });
    if (agent === null) return;
    this.#agent = agent;
    this.#tunnel.inFlight += 1;
    this.#tunnel.use.hopsInFlight += 1;
    takeStream(agent, this);
    // Reads even if there is no data: the runtime resets a stream that has responded and was never read.
    readMore(peer);
  }

  /** The connections are shared with other streams, which are not affected. */
  contain(error: unknown): void {
    reportBug(error, { part: 'hop' });
    this.#breakOff(NGHTTP2_INTERNAL_ERROR);
  }

  #open(options: { readonly endStream: boolean; readonly waitForTrailers: boolean }): ClientHttp2Stream | null {
    try {
      return this.#link.request(neverIndexed(rawFor(this.#link, this.#raw)), options, this.#visitor);
    } catch (error) {
      if (!isUnsendable(error)) throw error;
      if (isSessionOver(error) && this.#takeNextLink()) return this.#open(options);
      // Either the agent's connection has just ended, and another node may have one, or no agent may get this request.
      this.#breakOff(isSessionOver(error) ? NGHTTP2_REFUSED_STREAM : NGHTTP2_PROTOCOL_ERROR);
      return null;
    }
  }

  #takeNextLink(): boolean {
    const next = this.#nextLink?.(this.#link) ?? null;
    if (next !== null) this.#link = next;
    return next !== null;
  }

  onEvent(stream: Http2Stream, event: string | symbol, head: unknown, flags: unknown, raw: unknown): boolean {
    return stream === this.#peer
      ? this.#onPeerEvent(event)
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
    // Later data of a closed direction is dropped.
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

  /** Cuts a WebSocket that neither the client nor the service closed. */
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
    endStream(agent);
    for (const stream of [peer, agent]) readMore(stream);
  }

  onEnd(stream: Http2Stream): void {
    if (this.#isBroken) return;
    if (stream === this.#peer) {
      this.#isRequestWhole = true;
      endStream(this.#agent as ClientHttp2Stream);
    } else {
      this.#isResponseEnded = true;
      if (this.#hasHead) this.#endResponse();
    }
  }

  #onPeerEvent(event: string | symbol): boolean {
    switch (event) {
      case 'drain':
        readMore(this.#agent as ClientHttp2Stream);
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
      case 'close':
        this.#onAgentClose();
        return true;
      default:
        return event === 'error';
    }
  }

  #onInformational(raw: Raw): void {
    this.#isUntouched = false;
    this.#informational += 1;
    if (this.#informational > MAX_INFORMATIONAL) this.#breakOff(NGHTTP2_ENHANCE_YOUR_CALM);
    else this.#attempt(this.#peer, () => sendInformational(this.#peer, raw));
  }

  #sendToAgent(chunk: Buffer): boolean {
    const agent = this.#agent as ClientHttp2Stream;
    this.#isUntouched = false;
    return agent.writable ? agent.write(chunk) : true;
  }

  #sendToPeer(chunk: Buffer): boolean {
    return this.#peer.writable ? this.#peer.write(chunk) : true;
  }

  #respond(head: Head, flags: number, raw: Raw): void {
    const isEnded = (flags & NGHTTP2_FLAG_END_STREAM) !== 0;
    this.#isUntouched = false;
    sendResponse(this.#peer, this.#nextLink === undefined ? raw : withNode(raw, this.#link.nodeName), {
      endStream: isEnded,
      waitForTrailers: false,
    });
    this.#trace?.answered(head[':status']);
    if (head[':status'] !== 200) this.#frames = null;
    readMore(this.#agent as ClientHttp2Stream);
    if (isEnded) this.#isResponseWhole = true;
    for (const chunk of this.#early ?? []) this.#sendToPeer(chunk);
    if (this.#isResponseEnded) this.#endResponse();
    if (this.#frames?.isClosing === true) this.#goAway();
  }

  #endResponse(): void {
    this.#isResponseWhole = true;
    endStream(this.#peer);
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
    const { rstCode } = this.#agent as ClientHttp2Stream;
    this.#link.release(this.#agent as ClientHttp2Stream);
    this.#tunnel.inFlight -= 1;
    this.#tunnel.use.hopsInFlight -= 1;
    const mayGoElsewhere = this.#isUntouched && !this.#isBroken && !peer.closed && this.#isNotTaken(rstCode);
    if (mayGoElsewhere) {
      if (shortageOfCode(rstCode) !== null) this.#shortageCode = rstCode;
      if (this.#takeNextLink()) {
        this.#start();
        return;
      }
    }
    if (!this.#isResponseWhole) resetStream(peer, (mayGoElsewhere ? this.#shortageCode : null) ?? rstCode);
    // The service reads no more. The reset waits for the end of the response (RFC 9113 §8.1).
    else if (!this.#isRequestWhole) closeComplete(peer);
    // Data that waits would keep the stream alive, with its share of the session's window.
    if (!this.#isRequestWhole) readMore(peer);
  }

  /**
   * A node or worker that no longer has the tunnel, or whose agent has no stream left, refuses the stream, and a broken
   * link to a node is lost.
   */
  #isNotTaken(code: number): boolean {
    const { relay } = this.#link;
    if (relay === 'node') return true;
    return relay === 'holder' && (code === NGHTTP2_REFUSED_STREAM || shortageOfCode(code) !== null);
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

/** Only this node says it: an agent could say anything. */
function withNode(raw: Raw, nodeName: string | undefined): Raw {
  const said = withoutHeader(raw, TUNNEL_NODE_HEADER);
  return nodeName === undefined ? said : [...said, TUNNEL_NODE_HEADER, nodeName];
}
