import type { ClientHttp2Stream } from 'node:http2';
import { guarded, reporting } from '../../lib/guarded-listeners.ts';
import type { HeaderList } from '../../lib/http/header-list.ts';
import type { SharedPlaces } from '../../lib/net/shared-places.ts';
import type { Carried, Carrier, ChannelRequest, RequestChannel } from '../../upstream/carrier.ts';
import { RequestTooLargeError, UnsafeRequestError } from '../../upstream/request-headers.ts';
import { Channel, type ChannelOwner } from './channel.ts';
import { ChannelCarrier } from './channel-carrier.ts';
import {
  ChannelViolation,
  HAS_BODY,
  IS_REPEAT,
  isKnownType,
  MAY_HAVE_TRAILERS,
  REQUEST,
  textOf,
  UnsendableList,
} from './channel-frames.ts';

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
