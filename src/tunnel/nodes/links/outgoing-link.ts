import type { Socket } from 'node:net';
import { guarded, listen, listenOnce, reportBug } from '../../../kit/guarded-listeners.ts';
import { RequestingEnd } from '../../protocol/link-ends.ts';
import { OutgoingChannel, type OutgoingChannelOwner } from '../channel/outgoing-channel.ts';
import {
  BETWEEN_NODES,
  CHANNEL_PATH,
  FLUSH_WITHIN_MS,
  type LinkBounds,
  type LivenessOwner,
  MAX_STREAMS,
  NODE_AUTHORITY,
  PEER_PING_MS,
  type PeerLink,
  PeerLiveness,
} from './peer-links.ts';

/** The channel is accepted in the same round trip as the first ping; this process may have stood still meanwhile. */
const ACCEPT_WITHIN_MS = 5_000;
const CHANNEL_HEAD = [':method', 'POST', ':scheme', 'https', ':authority', NODE_AUTHORITY, ':path', CHANNEL_PATH];

export interface OutgoingLinkOwner {
  /** The other node has accepted the channel, and has answered the first ping and so accepted our certificate. */
  onUp(link: OutgoingLink): void;
  /** Called once. Streams in progress may continue when the other node is being stopped. */
  onDown(link: OutgoingLink, reason: string): void;
}

/**
 * A connection that this node dialled, seen as the HTTP/2 client that opens all streams. States: *greeting* (the first
 * ping is unanswered, or the channel not accepted), *up*, *retired* (no new streams, closes after the last
 * stream), *closed*. A link whose channel has ended is closed: requests have no other way.
 */
export class OutgoingLink extends RequestingEnd implements PeerLink, LivenessOwner, OutgoingChannelOwner {
  readonly relay = 'node';
  readonly nodeId: string;
  readonly nodeName: string;
  readonly budgetBytes: number | undefined;
  readonly #owner: OutgoingLinkOwner;
  readonly #liveness: PeerLiveness;
  readonly #greetingTimer: NodeJS.Timeout;
  readonly #silentMs: number;
  #heardAtMs = Number.NEGATIVE_INFINITY;
  #doubtedAtMs = Number.NEGATIVE_INFINITY;
  #isUp = false;
  #upAtMs = Number.POSITIVE_INFINITY;
  #isDown = false;
  #channel: OutgoingChannel | null = null;

  constructor(
    socket: Socket,
    node: { readonly id: string; readonly name: string },
    owner: OutgoingLinkOwner,
    { silentMs, budgetBytes }: LinkBounds = BETWEEN_NODES,
  ) {
    super(socket, 'https://node', {
      maxStreams: MAX_STREAMS,
      ...(budgetBytes !== undefined && { windows: { budgetBytes: () => budgetBytes } }),
    });
    this.budgetBytes = budgetBytes;
    this.nodeId = node.id;
    this.nodeName = node.name;
    this.#owner = owner;
    const { session } = this;
    this.#silentMs = silentMs;
    this.#liveness = new PeerLiveness(socket, session, this, { pingMs: PEER_PING_MS, silentMs });
    const tooLate = guarded(this, () => this.fail(`it did not accept the channel within ${ACCEPT_WITHIN_MS} ms`));
    this.#greetingTimer = setTimeout(tooLate, ACCEPT_WITHIN_MS).unref();
    listenOnce(session, 'connect', this, () => {
      this.widen();
      this.#liveness.ping();
      this.windows.opened();
      this.#channel = new OutgoingChannel(session.request(CHANNEL_HEAD, { endStream: false }), this);
    });
    listen(session, 'goaway', this, () => this.retire('it is being stopped'));
    listen(session, 'error', this, (error: Error) => this.fail(error.message));
    listen(socket, 'error', this, (error: Error) => this.fail(error.message));
    listenOnce(session, 'close', this, () => this.fail('the connection was closed'));
    listenOnce(socket, 'close', this, () => this.fail('the connection was closed'));
  }

  get heardAtMs(): number {
    return this.#heardAtMs;
  }

  get isDoubted(): boolean {
    return this.#heardAtMs < this.#doubtedAtMs;
  }

  get upAtMs(): number {
    return this.#upAtMs;
  }

  protected get isOpen(): boolean {
    return this.#isUp && this.channel !== null && !this.session.destroyed;
  }

  get channel(): OutgoingChannel | null {
    return this.#channel?.isReady === true && !this.#isDown ? this.#channel : null;
  }

  contain(error: unknown): void {
    reportBug(error, { part: 'peer link', peer: this.nodeName });
    this.fail('this node has an internal error');
  }

  onAnswer(sentAtMs: number): void {
    this.#heardAtMs = Math.max(this.#heardAtMs, sentAtMs);
    this.#greeted();
  }

  onAccepted(): void {
    this.#greeted();
  }

  #greeted(): void {
    const isComplete = this.#heardAtMs > Number.NEGATIVE_INFINITY && this.channel !== null;
    if (this.#isUp || !isComplete) return;
    clearTimeout(this.#greetingTimer);
    this.#isUp = true;
    this.#upAtMs = performance.now();
    this.#owner.onUp(this);
  }

  onSilent(): void {
    this.fail(`it was silent for ${this.#silentMs} ms`);
  }

  /** A call got no answer in time. The node may be frozen, or only its handler slow: the answer to a ping decides. */
  doubt(): void {
    if (this.isDoubted) return;
    this.#doubtedAtMs = performance.now();
    this.#liveness.ping();
  }

  protected onPlaceLeft(): void {
    if (this.#isDown) this.#closeIfUnused();
  }

  onReleased(place: number): void {
    this.places.leave(place);
    this.onPlaceLeft();
  }

  onBroken(why: string): void {
    this.fail(why);
  }

  onClosed(): void {
    this.windows.closed();
    this.#channel = null;
    if (!this.#isDown) this.fail(this.#isUp ? 'it closed the channel' : 'it did not accept the channel');
  }

  /** Takes the link out of rotation. The link closes after its last stream. */
  retire(reason = 'it is no longer used'): void {
    this.#wentDown(reason);
    this.#closeIfUnused();
  }

  fail(reason: string): void {
    this.#liveness.stop();
    this.#wentDown(reason);
    this.destroy();
  }

  #closeIfUnused(): void {
    if (this.active > 0 || this.session.destroyed) return;
    this.#channel?.end();
    this.session.close();
    setTimeout(() => this.fail('the connection was closed'), FLUSH_WITHIN_MS).unref();
  }

  #wentDown(reason: string): void {
    if (this.#isDown) return;
    this.#isDown = true;
    clearTimeout(this.#greetingTimer);
    this.#owner.onDown(this, reason);
  }
}
