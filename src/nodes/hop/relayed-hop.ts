import { constants } from 'node:http2';
import type { OnlineTunnel } from '../../edge/tunnels/online-tunnels.ts';
import { reportBug } from '../../lib/bug-report.ts';
import type { HeaderList } from '../../lib/http/header-list.ts';
import { bufferPassed } from '../../lib/net/passing-buffers.ts';
import type { Carried, Carrier, RequestChannel } from '../../upstream/carrier.ts';
import { MAX_INFORMATIONAL } from '../../upstream/max-informational.ts';
import { isSessionOver, isUnsendable } from '../../upstream/unsendable.ts';
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

const { NGHTTP2_CANCEL, NGHTTP2_ENHANCE_YOUR_CALM, NGHTTP2_INTERNAL_ERROR } = constants;
const { NGHTTP2_PROTOCOL_ERROR, NGHTTP2_REFUSED_STREAM } = constants;

export interface RelayedHopParts {
  readonly tunnel: OnlineTunnel;
  /** To the node with the agent. */
  readonly channel: RequestChannel;
  readonly request: ReceivedRequest;
}

/**
 * A request of a worker for an agent of another node: copied from the worker's channel to that node's, and back. It
 * changes nothing, and has no deadlines: the worker has them.
 */
export class RelayedHop extends ChannelStream implements Carried {
  readonly #tunnel: OnlineTunnel;
  readonly #channel: RequestChannel;
  readonly #request: ReceivedRequest;
  /** Null before it is open, and once the other node has nothing more to do with it. */
  #carrier: Carrier | null = null;
  #isRequestWhole: boolean;
  #isHeadAll = false;
  #isEndSent = false;
  #informational = 0;

  constructor(place: ChannelPlace, { tunnel, channel, request }: RelayedHopParts) {
    super(place, INITIAL_CREDIT_BYTES, 0);
    this.#tunnel = tunnel;
    this.#channel = channel;
    this.#request = request;
    this.#isRequestWhole = !request.hasBody;
  }

  start(): void {
    const { raw, hasBody, mayHaveTrailers } = this.#request;
    try {
      this.#carrier = this.#channel.open(raw, { hasBody, mayHaveTrailers }, this);
    } catch (error) {
      if (!isUnsendable(error)) throw error;
      this.reset(isSessionOver(error) ? NGHTTP2_REFUSED_STREAM : NGHTTP2_PROTOCOL_ERROR);
      return;
    }
    this.#tunnel.inFlight += 1;
    this.#tunnel.use.hopsInFlight += 1;
  }

  // From the worker.

  onHead(): void {
    throw new ChannelViolation('a response from the thread with the client');
  }

  onChunk(chunk: Buffer): boolean {
    bufferPassed(chunk.length);
    if (this.#isRequestWhole) throw new ChannelViolation('data after the end of a request');
    // The other node needs no more of it.
    return this.#carrier?.write(chunk) ?? true;
  }

  onSendersEnd(text: string): void {
    if (this.#isRequestWhole) throw new ChannelViolation('two ends of one request');
    this.#isRequestWhole = true;
    this.#carrier?.end(listOf(text));
    this.#leaveIfOver();
  }

  onReset(): void {
    this.leave();
    this.#letGo(true);
  }

  onLost(): void {
    this.onReset();
  }

  onWanted(): void {}

  onSent(): void {
    this.#carrier?.resume();
  }

  protected override onEndSent(): void {
    this.#isEndSent = true;
    this.#leaveIfOver();
  }

  // From the other node.

  onInformational(status: number, raw: HeaderList): void {
    this.#informational += 1;
    if (this.#informational > MAX_INFORMATIONAL) this.#breakOff(NGHTTP2_ENHANCE_YOUR_CALM);
    else this.#sendHead(INFORMATIONAL, status, raw);
  }

  onBodyWanted(): void {
    this.grant(0);
  }

  /** The worker checks the length. */
  onResponse(status: number, raw: HeaderList, isEnded: boolean): null {
    this.#isHeadAll = isEnded;
    this.#sendHead(RESPONSE, isEnded ? status + IS_ENDED : status, raw);
    return null;
  }

  onData(chunk: Buffer): boolean {
    return this.send(chunk);
  }

  onEnd(trailers: HeaderList): void {
    // The rest of the request is dropped.
    this.#letGo(!this.#isRequestWhole);
    if (!this.#isRequestWhole) this.grant(0);
    if (this.#isHeadAll) this.onEndSent();
    else this.#sendEndWith(trailers);
  }

  onDrain(): void {
    this.grant(0);
  }

  onBodyProblem(): void {
    this.#breakOff(NGHTTP2_PROTOCOL_ERROR);
  }

  onClose(code: number): void {
    this.#released();
    this.reset(code === 0 ? NGHTTP2_CANCEL : code);
  }

  contain(error: unknown): void {
    reportBug(error, { part: 'hop' });
    this.#breakOff(NGHTTP2_INTERNAL_ERROR);
  }

  #sendHead(type: number, number: number, raw: HeaderList): void {
    this.#attempt(() => this.head(type, number, textOf(raw)));
  }

  #sendEndWith(trailers: HeaderList): void {
    this.#attempt(() => this.sendEnd(textOf(trailers)));
  }

  #attempt(send: () => void): void {
    try {
      send();
    } catch (error) {
      if (!(error instanceof UnsendableList)) throw error;
      this.#breakOff(NGHTTP2_PROTOCOL_ERROR);
    }
  }

  #breakOff(code: number): void {
    this.reset(code);
    this.#letGo(true);
  }

  #letGo(isReset: boolean): void {
    const carrier = this.#carrier;
    this.#released();
    carrier?.letGo(isReset);
  }

  #released(): void {
    if (this.#carrier === null) return;
    this.#carrier = null;
    this.#tunnel.inFlight -= 1;
    this.#tunnel.use.hopsInFlight -= 1;
  }

  #leaveIfOver(): void {
    if (this.#isRequestWhole && this.#isEndSent) this.leave();
  }
}
