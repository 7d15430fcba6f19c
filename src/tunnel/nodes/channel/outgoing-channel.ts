import { type ClientHttp2Stream, constants } from 'node:http2';
import { messageOf } from '../../../kit/error-text.ts';
import { guarded, reportBug, reporting } from '../../../kit/guarded-listeners.ts';
import type { HeaderList } from '../../../kit/http/header-values.ts';
import type { SharedPlaces } from '../../../kit/net/shared-places.ts';
import { bufferPassed } from '../../../kit/net/waiting-bytes.ts';
import { RequestTooLargeError, sendableTrailers, UnsafeRequestError } from '../../../proxy/upstream/request-headers.ts';
import type { Carried, Carrier, ChannelRequest, RequestChannel } from '../../../proxy/upstream/upstream.ts';
import { Channel, type ChannelOwner } from './channel.ts';
import {
  ChannelViolation,
  HAS_BODY,
  INFORMATIONAL,
  INITIAL_CREDIT_BYTES,
  IS_ENDED,
  IS_REPEAT,
  isKnownType,
  listOf,
  MAY_HAVE_TRAILERS,
  REQUEST,
  textOf,
  UnsendableList,
} from './channel-frames.ts';
import { type ChannelPlace, ChannelStream, ChunkQueue } from './channel-stream.ts';

const { NGHTTP2_CANCEL, NGHTTP2_INTERNAL_ERROR, NGHTTP2_NO_ERROR, NGHTTP2_PROTOCOL_ERROR } = constants;
const NO_TRAILERS: HeaderList = [];
/** A whole chunk is delivered at once: no chunk is larger than this. */
const DELIVERED_BYTES = Number.MAX_SAFE_INTEGER;

/** A request on a channel, at the node with the client. */
class ChannelCarrier extends ChannelStream implements Carrier {
  /** Null once the exchange is over. */
  #carried: Carried | null;
  #hasHead = false;
  /** Bytes that are missing of a body whose length is known. */
  #bytesLeft: number | null = null;
  #isPaused = false;
  /** Chunks that arrived while the client did not read. */
  #held: ChunkQueue | null = null;
  /** The whole response has arrived. A part of it may not be delivered yet. */
  #isWhole = false;
  #trailers = NO_TRAILERS;

  constructor(place: ChannelPlace, carried: Carried) {
    super(place, 0, INITIAL_CREDIT_BYTES);
    this.#carried = carried;
  }

  write(chunk: Buffer): boolean {
    return this.send(chunk);
  }

  end(trailers: HeaderList): void {
    try {
      this.sendEnd(textOf(sendableTrailers(trailers)));
    } catch (error) {
      if (!(error instanceof UnsendableList)) throw error;
      this.#carried?.onBodyProblem(`its trailers cannot be sent: ${messageOf(error)}`);
    }
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    try {
      this.#deliver();
    } catch (error) {
      this.contain(error);
    }
  }

  #deliver(): void {
    const held = this.#held;
    while (!this.#isPaused && this.#carried !== null) {
      const chunk = held?.take(DELIVERED_BYTES) ?? null;
      if (chunk === null) break;
      this.channel.held(-chunk.length);
      if (!this.#carried.onData(chunk)) this.#isPaused = true;
    }
    if (!this.#isWhole) this.grant(held?.bytes ?? 0);
    else if (!this.#isPaused) this.#carried?.onEnd(this.#trailers);
  }

  get heldBytes(): number {
    return this.#held?.bytes ?? 0;
  }

  release(isReset: boolean): void {
    this.#carried = null;
    this.channel.held(-this.heldBytes);
    this.#held = null;
    if (isReset) this.reset(NGHTTP2_CANCEL);
    else this.leaveAfterEnd();
  }

  giveAway(): ClientHttp2Stream {
    throw new Error('a request that switches protocols was sent on a channel');
  }

  onHead(type: number, number: number, text: string): void {
    if (this.#hasHead) throw new ChannelViolation('two responses to one request');
    const list = listOf(text);
    if (type === INFORMATIONAL) {
      // 101 switches protocols, which HTTP/2 does in another way.
      if (number < 100 || number > 199 || number === 101)
        throw new ChannelViolation(`the informational status ${number}`);
      this.#carried?.onInformational(number, list);
      return;
    }
    const isEnded = number >= IS_ENDED;
    const status = isEnded ? number - IS_ENDED : number;
    if (status < 200 || status > 999) throw new ChannelViolation(`the status ${status}`);
    this.#hasHead = true;
    this.#bytesLeft = this.#carried?.onResponse(status, list, isEnded) ?? null;
    this.#isWhole = isEnded;
    if (isEnded) this.#carried?.onEnd(NO_TRAILERS);
  }

  override onNode(name: string): void {
    this.#carried?.onNode?.(name);
  }

  onChunk(chunk: Buffer): boolean {
    bufferPassed(chunk.length);
    if (!this.#hasHead || this.#isWhole) throw new ChannelViolation('data outside of a response');
    if (this.#bytesLeft !== null) {
      this.#bytesLeft -= chunk.length;
      if (this.#bytesLeft < 0) {
        this.#fail('more data than the response announced');
        return true;
      }
    }
    if (!this.#isPaused) {
      this.#isPaused = this.#carried?.onData(chunk) === false;
      return !this.#isPaused;
    }
    this.#held ??= new ChunkQueue();
    this.#held.push(chunk);
    this.channel.held(chunk.length);
    return false;
  }

  onSendersEnd(text: string): void {
    if (!this.#hasHead || this.#isWhole) throw new ChannelViolation('an end outside of a response');
    this.#trailers = listOf(text);
    if (this.#bytesLeft !== null && this.#bytesLeft > 0) {
      this.#fail('less data than the response announced');
      return;
    }
    this.#isWhole = true;
    if (!this.#isPaused) this.#carried?.onEnd(this.#trailers);
  }

  onReset(code: number): void {
    this.leave();
    // The response is whole: the rest of the request is not needed, and is dropped.
    if (this.#isWhole) this.#carried?.onDrain();
    else this.#carried?.onClose(code, hasReason(code) ? new Error(`it was reset with code ${code}`) : null);
  }

  onLost(): void {
    this.onReset(NGHTTP2_CANCEL);
  }

  onWanted(): void {
    this.#carried?.onBodyWanted();
  }

  onSent(): void {
    this.#carried?.onDrain();
  }

  contain(error: unknown): void {
    if (this.#carried !== null) {
      this.#carried.contain(error);
      return;
    }
    reportBug(error, { part: 'request on a channel' });
    this.reset(NGHTTP2_INTERNAL_ERROR);
  }

  /** The body's length is wrong: the client would take other bytes for its next response. */
  #fail(why: string): void {
    this.reset(NGHTTP2_PROTOCOL_ERROR);
    this.#carried?.onClose(NGHTTP2_PROTOCOL_ERROR, new Error(why));
  }
}

/** Whether a reset has a reason, as the runtime decides for a stream. */
function hasReason(code: number): boolean {
  return code !== NGHTTP2_NO_ERROR && code !== NGHTTP2_CANCEL;
}

const OK = 200;
const OWNER = reporting('channel between nodes');

export interface OutgoingChannelOwner extends ChannelOwner {
  readonly places: Pick<SharedPlaces, 'enter'>;
  /** The other node takes requests. Called in a turn of its own. */
  onAccepted(): void;
}

/** The channel at the node that sends requests. Nothing is sent until the other node has accepted the channel. */
export class OutgoingChannel extends Channel implements RequestChannel {
  readonly #owner: OutgoingChannelOwner;
  #nextId = 1;
  #isAccepted = false;

  /** The stream is new. */
  constructor(stream: ClientHttp2Stream, owner: OutgoingChannelOwner) {
    super(stream, owner);
    this.#owner = owner;
    this.start();
  }

  get isReady(): boolean {
    return this.#isAccepted && !this.isEnded;
  }

  open(
    headers: HeaderList,
    { hasBody, mayHaveTrailers, isRepeat, visitor }: ChannelRequest,
    carried: Carried,
  ): Carrier {
    const text = requestText(headers);
    const id = this.#nextId;
    this.#nextId += 1;
    const carrier = new ChannelCarrier({ channel: this, id }, carried);
    carrier.place = this.#owner.places.enter(visitor);
    this.add(carrier);
    const flags =
      (hasBody ? HAS_BODY : 0) + (mayHaveTrailers ? MAY_HAVE_TRAILERS : 0) + (isRepeat === true ? IS_REPEAT : 0);
    this.output.head(REQUEST, id, flags, text);
    return carrier;
  }

  /** Only this node ends the channel, unless the other node does not accept it. */
  override onEnd(): void {
    if (this.#isAccepted && !this.isEnded) this.broken('it ended the channel', false);
    this.end();
  }

  protected onAccepted(status: number): void {
    this.#isAccepted = status === OK;
    if (this.#isAccepted) setImmediate(guarded(OWNER, () => this.#owner.onAccepted()));
    else this.end();
  }

  /** Frames of an exchange that was reset here may still arrive. */
  protected onOther(type: number, id: number): void {
    if (type === REQUEST) throw new ChannelViolation('a request from the node with the agent');
    if (isKnownType(type)) this.assertKnown(id);
  }

  protected assertKnown(id: number): void {
    if (id >= this.#nextId || id === 0) throw new ChannelViolation(`a response to request ${id}, which was not sent`);
  }
}

function requestText(headers: HeaderList): string {
  try {
    return textOf(headers);
  } catch (error) {
    if (!(error instanceof UnsendableList)) throw error;
    throw error.isTooLarge ? new RequestTooLargeError(error.message) : new UnsafeRequestError(error.message);
  }
}
