import { constants } from 'node:http2';
import { reportBug } from '../../../kit/guarded-listeners.ts';
import { firstValue, type HeaderList } from '../../../kit/http/header-values.ts';
import { neverIndexed } from '../../../kit/http2/heads.ts';
import { CODE_OF_SHORTAGE, type Shortage, shortageOfCode } from '../../../kit/net/shared-places.ts';
import { bufferPassed, waits } from '../../../kit/net/waiting-bytes.ts';
import { LinkAttempts } from '../../../proxy/edge/tunnels/link-attempts.ts';
import type { AgentLink, OnlineTunnel } from '../../../proxy/edge/tunnels/online-tunnels.ts';
import type { HopTrace } from '../../../proxy/tracing/request-trace.ts';
import { Http2Carrier } from '../../../proxy/upstream/http2-carrier.ts';
import { isSafe } from '../../../proxy/upstream/request-headers.ts';
import { type Carried, type Carrier, MAX_INFORMATIONAL } from '../../../proxy/upstream/upstream.ts';
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

const { NGHTTP2_ENHANCE_YOUR_CALM, NGHTTP2_INTERNAL_ERROR } = constants;
const { NGHTTP2_PROTOCOL_ERROR, NGHTTP2_REFUSED_STREAM } = constants;

export interface RequestHopParts {
  readonly tunnel: OnlineTunnel;
  /** The first way to the agent. Null: there is none. */
  readonly link: AgentLink | null;
  readonly request: ReceivedRequest;
  readonly visitor: string | undefined;
  /** The request is another node's. Absent: it is a worker's. */
  readonly forNode?: { readonly trace: HopTrace | null };
}

/**
 * A request of another node or of a worker, copied from its channel to a connection of the agent, or to the channel of
 * the worker or node that has one, and back. A hop changes nothing, and has no deadlines: the thread with the client
 * has them. For a worker it tries further ways to the agent when one refuses or loses the request, like
 * `TunnelExchange`. A node does that itself: for it, the hop tries further workers only, and only after a refusal. A
 * hop is over when both messages are complete, or one side resets.
 */
export class RequestHop extends ChannelStream implements Carried {
  readonly #tunnel: OnlineTunnel;
  readonly #request: ReceivedRequest;
  readonly #visitor: string | undefined;
  readonly #isForNode: boolean;
  readonly #length: AnnouncedLength | null;
  /** Null: nothing is recorded, or the trace has ended. */
  #trace: HopTrace | null;
  #link: AgentLink | null;
  /** Why one of the ways did not take it. */
  #shortage: Shortage | null = null;
  /** Null until the first way fails. */
  #attempts: LinkAttempts | null = null;
  /** Null before it is open, and once the other end has nothing more to do with it. */
  #carrier: Carrier | null = null;
  #isRequestWhole: boolean;
  /** A part of the body was sent on: no other way can get the whole. */
  #isBodyTaken = false;
  /** A part of the response has come. */
  #hasBytes = false;
  #isHeadAll = false;
  #isResponseWhole = false;
  #isEndSent = false;
  #informational = 0;

  constructor(place: ChannelPlace, { tunnel, link, request, visitor, forNode }: RequestHopParts) {
    super(place, INITIAL_CREDIT_BYTES, 0);
    this.#tunnel = tunnel;
    this.#link = link;
    this.#request = request;
    this.#visitor = visitor;
    this.#isRequestWhole = !request.hasBody;
    this.#isForNode = forNode !== undefined;
    this.#length = forNode !== undefined && request.hasBody ? new AnnouncedLength(request) : null;
    this.#trace = forNode?.trace ?? null;
  }

  start(): void {
    if (!this.#send(this.#link)) this.#resetUnsent(NGHTTP2_REFUSED_STREAM);
  }

  /** No way is left. That a way lacks places is more than that another one is gone. */
  #resetUnsent(code: number): void {
    const shortage = this.#shortage ?? this.#tunnel.shortage?.(this.#visitor) ?? null;
    this.#resetOwn(shortage === null ? code : CODE_OF_SHORTAGE[shortage]);
  }

  /** False when no way to the agent is left. */
  #send(first: AgentLink | null): boolean {
    let link = first;
    while (link !== null && !this.#sendOn(link)) {
      this.#attempts ??= new LinkAttempts();
      this.#attempts.ended(link);
      link = this.#attempts.next(this.#tunnel, this.#visitor);
    }
    return link !== null;
  }

  /** False when the connection ended just now. */
  #sendOn(link: AgentLink): boolean {
    try {
      if (link.channel === null) return false;
      this.#carrier = this.#open(link);
    } catch (error) {
      if (isSessionOver(error)) return false;
      if (!isUnsendable(error)) throw error;
      this.#resetOwn(NGHTTP2_PROTOCOL_ERROR);
      return true;
    }
    this.#link = link;
    this.#tunnel.inFlight += 1;
    this.#tunnel.use.hopsInFlight += 1;
    if (link.nodeName !== undefined) this.node(link.nodeName);
    // Another node asks for the body when it has taken the request.
    if (link.relay === undefined && !this.#isRequestWhole) this.grant(0);
    return true;
  }

  #open(link: AgentLink): Carrier {
    const { raw, hasBody, mayHaveTrailers } = this.#request;
    const visitor = this.#visitor;
    const forNext = rawFor(link, raw);
    if (link.channel) return link.channel.open(forNext, { hasBody, mayHaveTrailers, visitor }, this);
    const options = { endStream: !hasBody, waitForTrailers: hasBody && mayHaveTrailers };
    return new Http2Carrier(link.request(neverIndexed(forNext), options, visitor), link, this);
  }

  /** The node with the client finds further ways to an agent that is connected to this thread. */
  #isLastFor({ relay }: AgentLink): boolean {
    return this.#isForNode && relay === undefined;
  }

  /** As `TunnelExchange` decides it. */
  #sendAgain(link: AgentLink, wasRefused: boolean): boolean {
    const { raw, hasBody, isRepeat } = this.#request;
    if (this.#hasBytes || this.#isBodyTaken) return false;
    if (!wasRefused && (hasBody || isRepeat || this.#isForNode || !isSafe(raw[1] ?? ''))) return false;
    this.#attempts ??= new LinkAttempts();
    if (!wasRefused && !this.#attempts.mayRepeat(link)) return false;
    this.#attempts.failed(link, wasRefused);
    return this.#send(this.#attempts.next(this.#tunnel, this.#visitor));
  }

  // From the thread with the client.

  onHead(): void {
    throw new ChannelViolation('a response from the node with the client');
  }

  onChunk(chunk: Buffer): boolean {
    bufferPassed(chunk.length);
    if (this.#isRequestWhole) throw new ChannelViolation('data after the end of a request');
    this.#length?.passed(chunk.length);
    this.#isBodyTaken = true;
    return this.#carrier?.write(chunk) ?? true;
  }

  onSendersEnd(text: string): void {
    if (this.#isRequestWhole) throw new ChannelViolation('two ends of one request');
    this.#length?.ended();
    this.#isRequestWhole = true;
    this.#isBodyTaken = true;
    this.#carrier?.end(listOf(text));
    if (this.#isResponseWhole) this.#release(false);
    this.#leaveIfOver();
  }

  onReset(): void {
    this.leave();
    this.#ended(false);
    this.#release(true);
  }

  onLost(): void {
    this.onReset();
  }

  onWanted(): void {}

  onSent(): void {
    this.#carrier?.resume();
  }

  /** A response waits for its client. */
  protected override queued(bytes: number): void {
    if (this.#link?.held === undefined) waits(bytes);
    else this.#link.held(bytes);
  }

  protected override onEndSent(): void {
    this.#isEndSent = true;
    this.#leaveIfOver();
  }

  // From the agent, or from the thread that has its connection.

  onInformational(status: number, raw: HeaderList): void {
    this.#hasBytes = true;
    this.#informational += 1;
    if (this.#informational > MAX_INFORMATIONAL) this.#breakOff(NGHTTP2_ENHANCE_YOUR_CALM);
    else this.#sendHead(INFORMATIONAL, status, raw);
  }

  onBodyWanted(): void {
    this.grant(0);
  }

  /** The thread with the client checks the length, which only tells an agent's stream whether trailers may follow. */
  onResponse(status: number, raw: HeaderList, isEnded: boolean): number | null {
    this.#hasBytes = true;
    this.#isHeadAll = isEnded;
    this.#trace?.answered(status);
    this.#sendHead(RESPONSE, isEnded ? status + IS_ENDED : status, raw);
    const length = this.#link?.relay === undefined ? firstValue(raw, 'content-length') : undefined;
    return length === undefined ? null : Number(length);
  }

  onData(chunk: Buffer): boolean {
    return this.send(chunk);
  }

  onEnd(trailers: HeaderList): void {
    // The service gets the rest of the request, too.
    this.#isResponseWhole = true;
    if (this.#isRequestWhole) this.#release(false);
    if (this.#isHeadAll) {
      this.onEndSent();
      return;
    }
    const text = this.#textOf(trailers);
    if (text !== null) this.sendEnd(text);
  }

  onDrain(): void {
    this.grant(0);
  }

  onBodyProblem(): void {
    this.#breakOff(NGHTTP2_PROTOCOL_ERROR);
  }

  onClose(code: number): void {
    const link = this.#link;
    this.#release(false);
    if (link === null || this.#isLastFor(link)) {
      this.#resetOwn(code);
      return;
    }
    const shortage = link.relay === undefined ? null : shortageOfCode(code);
    this.#shortage = shortage ?? this.#shortage;
    const wasRefused = code === NGHTTP2_REFUSED_STREAM || shortage !== null;
    if (this.#sendAgain(link, wasRefused)) return;
    if (wasRefused) this.#resetUnsent(code);
    else this.#resetOwn(code);
  }

  contain(error: unknown): void {
    reportBug(error, { part: 'hop' });
    this.#breakOff(NGHTTP2_INTERNAL_ERROR);
  }

  #sendHead(type: number, number: number, raw: HeaderList): void {
    const text = this.#textOf(raw);
    if (text !== null) this.head(type, number, text);
  }

  /** Null: the list cannot be sent, and the exchange is over. */
  #textOf(raw: HeaderList): string | null {
    try {
      return textOf(raw);
    } catch (error) {
      if (!(error instanceof UnsendableList)) throw error;
      this.#breakOff(NGHTTP2_PROTOCOL_ERROR);
      return null;
    }
  }

  #breakOff(code: number): void {
    this.#resetOwn(code);
    this.#release(true);
  }

  #release(isReset: boolean): void {
    const carrier = this.#carrier;
    if (carrier === null) return;
    this.#carrier = null;
    this.#tunnel.inFlight -= 1;
    this.#tunnel.use.hopsInFlight -= 1;
    carrier.release(isReset);
  }

  #leaveIfOver(): void {
    if (!this.#isRequestWhole || !this.#isEndSent) return;
    this.leave();
    this.#ended(true);
  }

  #resetOwn(code: number): void {
    this.reset(code);
    this.#ended(false);
  }

  #ended(isWhole: boolean): void {
    this.#trace?.ended(isWhole);
    this.#trace = null;
  }
}
