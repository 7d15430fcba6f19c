import { constants, type ServerHttp2Stream } from 'node:http2';
import { reportBug } from '../../../kit/guarded-listeners.ts';
import { CODE_OF_SHORTAGE, type Shortage } from '../../../kit/net/shared-places.ts';
import { Channel, type ChannelOwner, headIn } from './channel.ts';
import {
  ChannelViolation,
  HAS_BODY,
  IS_REPEAT,
  isKnownType,
  listOf,
  MAY_HAVE_TRAILERS,
  REQUEST,
  RESET,
} from './channel-frames.ts';
import type { ChannelPlace, ChannelStream } from './channel-stream.ts';

const { NGHTTP2_INTERNAL_ERROR, NGHTTP2_REFUSED_STREAM } = constants;

export interface ReceivedRequest {
  /** Names and values in turn. */
  readonly raw: readonly string[];
  readonly hasBody: boolean;
  readonly mayHaveTrailers: boolean;
  readonly isRepeat: boolean;
}

/**
 * Null: this node does not have the tunnel. A shortage: it has, and its agent has no stream left. Otherwise `start`
 * follows, once the stream is part of the channel.
 */
export type ChannelRequestHandler = (request: ReceivedRequest, place: ChannelPlace) => StartedStream | Shortage | null;

export interface StartedStream extends ChannelStream {
  start(): void;
}

export interface IncomingChannelOptions {
  readonly handler: ChannelRequestHandler;
  /** Exchanges at the same time. */
  readonly maxStreams: number;
}

/** The channel at the node that receives requests. */
export class IncomingChannel extends Channel {
  readonly #options: IncomingChannelOptions;
  #lastId = 0;
  #isDraining = false;

  /** Accepts the channel. */
  constructor(stream: ServerHttp2Stream, owner: ChannelOwner, options: IncomingChannelOptions) {
    super(stream, owner);
    this.#options = options;
    stream.respond([':status', '200']);
    this.start();
  }

  /** Refuses further requests, so that the other node sends these requests elsewhere. */
  drain(): void {
    this.#isDraining = true;
  }

  protected onAccepted(): void {}

  protected onOther(type: number, id: number, bytes: Buffer, start: number, end: number): void {
    if (type !== REQUEST) {
      if (isKnownType(type)) this.assertKnown(id);
      return;
    }
    if (id <= this.#lastId) throw new ChannelViolation(`request ${id} after ${this.#lastId}`);
    this.#lastId = id;
    const [flags, text] = headIn(bytes, start, end);
    const raw = listOf(text);
    // A connection is a stream of its own.
    if (raw[0] !== ':method' || raw[1] === 'CONNECT') throw new ChannelViolation('a request without a proper method');
    this.#accept(
      {
        raw,
        hasBody: (flags & HAS_BODY) !== 0,
        mayHaveTrailers: (flags & MAY_HAVE_TRAILERS) !== 0,
        isRepeat: (flags & IS_REPEAT) !== 0,
      },
      { channel: this, id },
    );
  }

  protected assertKnown(id: number): void {
    if (id > this.#lastId || id === 0) throw new ChannelViolation(`a frame of request ${id}, which was not sent`);
  }

  /** A bug in one request does not affect others. */
  #accept(request: ReceivedRequest, place: ChannelPlace): void {
    const hasRoom = !this.#isDraining && this.size < this.#options.maxStreams;
    let stream: StartedStream | Shortage | null = null;
    try {
      stream = hasRoom ? this.#options.handler(request, place) : null;
    } catch (error) {
      reportBug(error, { part: 'channel request' });
      this.output.number(RESET, place.id, NGHTTP2_INTERNAL_ERROR);
      return;
    }
    if (stream === null || typeof stream === 'string') {
      const code = stream === null ? NGHTTP2_REFUSED_STREAM : CODE_OF_SHORTAGE[stream];
      this.output.number(RESET, place.id, code);
      return;
    }
    this.add(stream);
    try {
      stream.start();
    } catch (error) {
      stream.contain(error);
    }
  }
}
