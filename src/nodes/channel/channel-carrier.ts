import { type ClientHttp2Stream, constants } from 'node:http2';
import { reportBug } from '../../lib/bug-report.ts';
import type { HeaderList } from '../../lib/header-list.ts';
import { bufferPassed } from '../../lib/passing-buffers.ts';
import type { Carried, Carrier } from '../../upstream/carrier.ts';
import { sendableTrailers } from '../../upstream/http2-headers.ts';
import { messageOf } from '../../upstream/upstream-failure.ts';
import {
  ChannelViolation,
  INFORMATIONAL,
  INITIAL_CREDIT_BYTES,
  IS_ENDED,
  listOf,
  textOf,
  UnsendableList,
} from './channel-frames.ts';
import { type ChannelPlace, ChannelStream } from './channel-stream.ts';

const { NGHTTP2_CANCEL, NGHTTP2_INTERNAL_ERROR, NGHTTP2_NO_ERROR, NGHTTP2_PROTOCOL_ERROR } = constants;
const NO_TRAILERS: HeaderList = [];

/** A request on a channel, at the node with the client. */
export class ChannelCarrier extends ChannelStream implements Carrier {
  /** Null once it is over. */
  #carried: Carried | null;
  #hasHead = false;
  /** What is missing of a body whose length is known. */
  #bytesLeft: number | null = null;
  #isPaused = false;
  /** Arrived while the client did not read. */
  #held: Buffer[] = [];
  #heldBytes = 0;
  /** Trailers of a response whose end has arrived, but not all of which is delivered. */
  #ending: string | null = null;

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
    while (!this.#isPaused && this.#held.length > 0) {
      const chunk = this.#held.shift() as Buffer;
      this.#heldBytes -= chunk.length;
      if (this.#carried?.onData(chunk) === false) this.#isPaused = true;
    }
    if (this.#ending === null) this.grant(this.#heldBytes);
    else if (!this.#isPaused) this.#carried?.onEnd(listOf(this.#ending));
  }

  letGo(isReset: boolean): void {
    this.#carried = null;
    this.#held = [];
    if (isReset) this.reset(NGHTTP2_CANCEL);
    else this.leave();
  }

  giveAway(): ClientHttp2Stream {
    throw new Error('a request that switches protocols was sent on a channel');
  }

  onHead(type: number, number: number, text: string): void {
    if (this.#hasHead) throw new ChannelViolation('two responses to one request');
    const list = listOf(text);
    if (type === INFORMATIONAL) {
      if (number < 100 || number > 199) throw new ChannelViolation(`the informational status ${number}`);
      this.#carried?.onInformational(number, list);
      return;
    }
    const isEnded = number >= IS_ENDED;
    const status = isEnded ? number - IS_ENDED : number;
    if (status < 200 || status > 999) throw new ChannelViolation(`the status ${status}`);
    this.#hasHead = true;
    this.#bytesLeft = this.#carried?.onResponse(status, list, isEnded) ?? null;
    if (isEnded) this.#carried?.onEnd(NO_TRAILERS);
  }

  onChunk(chunk: Buffer): boolean {
    bufferPassed(chunk.length);
    if (!this.#hasHead || this.#ending !== null) throw new ChannelViolation('data outside of a response');
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
    this.#held.push(chunk);
    this.#heldBytes += chunk.length;
    return false;
  }

  onSendersEnd(text: string): void {
    if (!this.#hasHead || this.#ending !== null) throw new ChannelViolation('an end outside of a response');
    if (this.#bytesLeft !== null && this.#bytesLeft > 0) this.#fail('less data than the response announced');
    else if (this.#isPaused) this.#ending = text;
    else this.#carried?.onEnd(listOf(text));
  }

  onReset(code: number): void {
    // The response is complete, and the rest of the request is not needed.
    if (this.#ending !== null) this.leave();
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

  /** A client would take the rest for its next response. */
  #fail(why: string): void {
    this.reset(NGHTTP2_PROTOCOL_ERROR);
    this.#carried?.onClose(NGHTTP2_PROTOCOL_ERROR, new Error(why));
  }
}

/** As the runtime sees it for a stream. */
function hasReason(code: number): boolean {
  return code !== NGHTTP2_NO_ERROR && code !== NGHTTP2_CANCEL;
}
