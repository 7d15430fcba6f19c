import { type ClientHttp2Stream, constants, type Http2Stream } from 'node:http2';
import { reportBug } from '../../../kit/guarded-listeners.ts';
import { neverIndexed, sendTrailers } from '../../../kit/http2/heads.ts';
import { readMore, resetStream, type StreamTaker, takeStream } from '../../../kit/http2/stream-end.ts';
import { bufferPassed, waits } from '../../../kit/net/waiting-bytes.ts';
import type { AgentLink, OnlineTunnel } from '../../../proxy/edge/tunnels/online-tunnels.ts';
import type { HopTrace } from '../../../proxy/tracing/request-trace.ts';
import { MAX_INFORMATIONAL } from '../../../proxy/upstream/upstream.ts';
import { isSessionOver, isUnsendable } from '../../../proxy/upstream/upstream-failure.ts';
import {
  ChannelViolation,
  INFORMATIONAL,
  INITIAL_CREDIT_BYTES,
  IS_ENDED,
  listOf,
  RESPONSE,
  textOf,
  UnsendableList,
} from '../channel/channel-frames.ts';
import { type ChannelPlace, ChannelStream } from '../channel/channel-stream.ts';
import type { ReceivedRequest } from '../channel/incoming-channel.ts';
import { AnnouncedLength, rawFor } from './hop-headers.ts';

export interface ChannelHopParts {
  readonly tunnel: OnlineTunnel;
  readonly link: AgentLink;
  /** Null: nothing is recorded. */
  readonly trace: HopTrace | null;
  readonly request: ReceivedRequest;
  readonly visitor: string | undefined;
}

/** Below the smallest window of a stream. */
const SMALL_BYTES = 65_535;
type Head = Readonly<Record<string, unknown>>;
const { NGHTTP2_CANCEL, NGHTTP2_FLAG_END_STREAM, NGHTTP2_INTERNAL_ERROR, NGHTTP2_NO_ERROR } = constants;
const { NGHTTP2_ENHANCE_YOUR_CALM, NGHTTP2_PROTOCOL_ERROR, NGHTTP2_REFUSED_STREAM } = constants;
const NO_TRAILERS: readonly string[] = [];

/**
 * A request of another node, copied from the channel to an agent's connection and back. A hop changes nothing, and has
 * no deadlines: the node with the client has them. A hop is over when both messages are complete, or one side resets.
 */
export class ChannelHop extends ChannelStream implements StreamTaker {
  readonly #tunnel: OnlineTunnel;
  readonly #link: AgentLink;
  /** Null once the trace has ended. */
  #trace: HopTrace | null;
  readonly #request: ReceivedRequest;
  readonly #visitor: string | undefined;
  /** The stream to the agent. Null before it is open and after it has closed. */
  #agent: ClientHttp2Stream | null = null;
  #isRequestWhole: boolean;
  readonly #length: AnnouncedLength | null;
  #isResponseWhole = false;
  #isEndSent = false;
  #hasHead = false;
  #mayHaveTrailers = false;
  #informational = 0;
  /** Data that came before its head was forwarded. */
  #early: Buffer[] | null = null;
  #requestTrailers = NO_TRAILERS;
  #trailers = NO_TRAILERS;

  constructor(place: ChannelPlace, { tunnel, link, trace, request, visitor }: ChannelHopParts) {
    super(place, INITIAL_CREDIT_BYTES, 0);
    this.#tunnel = tunnel;
    this.#link = link;
    this.#trace = trace;
    this.#request = request;
    this.#visitor = visitor;
    this.#isRequestWhole = !request.hasBody;
    this.#length = request.hasBody ? new AnnouncedLength(request) : null;
  }

  start(): void {
    const { raw, hasBody, mayHaveTrailers } = this.#request;
    const agent = this.#open(raw, { endStream: !hasBody, waitForTrailers: hasBody && mayHaveTrailers });
    if (agent === null) return;
    this.#agent = agent;
    this.#tunnel.inFlight += 1;
    this.#tunnel.use.hopsInFlight += 1;
    takeStream(agent, this);
    // The first credit also says that this node has taken the request.
    if (hasBody) this.grant(0);
  }

  #open(
    raw: readonly string[],
    options: { readonly endStream: boolean; readonly waitForTrailers: boolean },
  ): ClientHttp2Stream | null {
    try {
      return this.#link.request(neverIndexed(rawFor(this.#link, raw)), options, this.#visitor);
    } catch (error) {
      if (!isUnsendable(error)) throw error;
      // Either the agent's connection has just ended, and another node may have one, or no agent may get this request.
      this.#breakOff(isSessionOver(error) ? NGHTTP2_REFUSED_STREAM : NGHTTP2_PROTOCOL_ERROR);
      return null;
    }
  }

  // From the other node.

  onHead(): void {
    throw new ChannelViolation('a response from the node with the client');
  }

  onChunk(chunk: Buffer): boolean {
    bufferPassed(chunk.length);
    if (this.#isRequestWhole) throw new ChannelViolation('data after the end of a request');
    this.#length?.passed(chunk.length);
    const agent = this.#agent;
    // The service reads no more. The other node may have to send the whole body before it reads the response.
    return agent?.writable === true ? agent.write(chunk) : true;
  }

  onSendersEnd(text: string): void {
    if (this.#isRequestWhole) throw new ChannelViolation('two ends of one request');
    this.#length?.ended();
    this.#requestTrailers = listOf(text);
    this.#isRequestWhole = true;
    if (this.#agent?.writable === true) this.#agent.end();
    this.#leaveIfOver();
  }

  onReset(code: number): void {
    this.leave();
    this.#onOver(false);
    this.#resetAgent(code === NGHTTP2_NO_ERROR ? NGHTTP2_CANCEL : code);
  }

  onLost(): void {
    this.onReset(NGHTTP2_CANCEL);
  }

  onWanted(): void {}

  onSent(): void {
    if (this.#agent !== null) readMore(this.#agent);
  }

  /** A response waits for its client. */
  protected override queued(bytes: number): void {
    if (this.#link.held === undefined) waits(bytes);
    else this.#link.held(bytes);
  }

  protected override onEndSent(): void {
    this.#isEndSent = true;
    this.#leaveIfOver();
  }

  contain(error: unknown): void {
    reportBug(error, { part: 'hop' });
    this.#breakOff(NGHTTP2_INTERNAL_ERROR);
  }

  // From the agent.

  onEvent(_stream: Http2Stream, event: string | symbol, head: unknown, flags: unknown, raw: unknown): boolean {
    switch (event) {
      case 'headers':
        this.#onInformational(head as Head, raw as readonly string[]);
        return true;
      case 'response':
        this.#onResponse(head as Head, flags as number, raw as readonly string[]);
        return true;
      case 'drain':
        this.grant(0);
        return true;
      case 'trailers':
        this.#trailers = raw as readonly string[];
        return true;
      case 'wantTrailers':
        this.#sendRequestTrailers();
        return true;
      case 'close':
        this.#onAgentClose();
        return true;
      default:
        // An error is followed by `close`.
        return event === 'error';
    }
  }

  onData(_stream: Http2Stream, chunk: Buffer): boolean {
    bufferPassed(chunk.length);
    if (this.#hasHead) return this.send(chunk);
    this.#early ??= [];
    this.#early.push(chunk);
    return true;
  }

  onEnd(): void {
    if (this.#isResponseWhole) return;
    this.#isResponseWhole = true;
    if (this.#hasHead) this.#endResponse();
  }

  #onInformational(head: Head, raw: readonly string[]): void {
    this.#informational += 1;
    if (this.#informational > MAX_INFORMATIONAL) this.#breakOff(NGHTTP2_ENHANCE_YOUR_CALM);
    else this.#sendHead(INFORMATIONAL, Number(head[':status']), raw);
  }

  #onResponse(head: Head, flags: number, raw: readonly string[]): void {
    const status = Number(head[':status']);
    const isEnded = (flags & NGHTTP2_FLAG_END_STREAM) !== 0;
    this.#hasHead = true;
    this.#sendHead(RESPONSE, isEnded ? status + IS_ENDED : status, raw);
    this.#trace?.answered(status);
    if (isEnded) {
      this.#isResponseWhole = true;
      this.onEndSent();
      return;
    }
    const length = head['content-length'];
    this.#mayHaveTrailers = length === undefined;
    // A smaller response fits into its window, so the window needs no update.
    if (this.#agent !== null && !(Number(length) <= SMALL_BYTES)) readMore(this.#agent);
    for (const chunk of this.#early ?? []) this.send(chunk);
    this.#early = null;
    if (this.#isResponseWhole) this.#endResponse();
  }

  /** The event with trailers follows the end of data, in the next tick. */
  #endResponse(): void {
    if (this.#mayHaveTrailers) process.nextTick(sendTrailersOf, this);
    else this.sendEnd('');
  }

  sendTrailers(): void {
    try {
      const text = this.#textOf(this.#trailers);
      if (text !== null) this.sendEnd(text);
    } catch (error) {
      this.contain(error);
    }
  }

  #sendHead(type: number, number: number, raw: readonly string[]): void {
    const text = this.#textOf(raw);
    if (text !== null) this.head(type, number, text);
  }

  /** Null: the list cannot be sent, and the exchange is over. */
  #textOf(raw: readonly string[]): string | null {
    try {
      return textOf(raw);
    } catch (error) {
      if (!(error instanceof UnsendableList)) throw error;
      this.#breakOff(NGHTTP2_PROTOCOL_ERROR);
      return null;
    }
  }

  #sendRequestTrailers(): void {
    try {
      if (this.#agent !== null) sendTrailers(this.#agent, this.#requestTrailers);
    } catch (error) {
      if (!isUnsendable(error)) throw error;
      this.#breakOff(NGHTTP2_PROTOCOL_ERROR);
    }
  }

  #onAgentClose(): void {
    const agent = this.#agent as ClientHttp2Stream;
    const code = agent.rstCode;
    this.#agent = null;
    this.#link.release(agent);
    this.#tunnel.inFlight -= 1;
    this.#tunnel.use.hopsInFlight -= 1;
    if (!this.#isResponseWhole) this.#breakOff(code);
    // See `onChunk`.
    else if (!this.#isRequestWhole) this.grant(0);
  }

  #leaveIfOver(): void {
    if (!this.#isRequestWhole || !this.#isEndSent) return;
    this.leave();
    this.#onOver(true);
  }

  #breakOff(code: number): void {
    this.reset(code);
    this.#onOver(false);
    this.#resetAgent(code);
  }

  #resetAgent(code: number): void {
    if (this.#agent === null) return;
    resetStream(this.#agent, code);
    // Data that waits would keep the stream alive, with its share of the session's window.
    readMore(this.#agent);
  }

  #onOver(isWhole: boolean): void {
    this.#trace?.ended(isWhole);
    this.#trace = null;
  }
}

/** One function for all hops: a closure for each hop would cost time in every request. */
function sendTrailersOf(hop: ChannelHop): void {
  hop.sendTrailers();
}
