import type { ClientHttp2Stream } from 'node:http2';
import type { AgentLink } from '../../edge/tunnels/online-tunnels.ts';
import type { LocalConnection } from '../../gateway/local-connection.ts';
import type { Shortage } from '../../lib/net/shared-places.ts';
import type { GatewayMessage } from '../../tunnel/messages.ts';
import type { RequestChannel } from '../../upstream/carrier.ts';
import type { AgentOrder } from './agent-orders.ts';

export interface ThreadConnectionParts {
  readonly number: number;
  readonly worker: number;
  readonly remoteAddress: string;
  /** The connection to the worker, for streams; null before it is up. */
  link(): AgentLink | null;
  order(number: number, order: AgentOrder): void;
  isAlive(number: number, withinMs: number): Promise<boolean>;
}

const NO_BYTES = { received: 0, sent: 0 };

/** An agent's connection that a worker has, as the gateway in the main thread sees it. */
export class ThreadConnection implements LocalConnection {
  readonly relay = 'holder';
  readonly remoteAddress: string;
  readonly worker: number;
  readonly #parts: ThreadConnectionParts;
  /** The worker has reported its end, or has the order to close it at once. */
  #isClosed = false;
  #isRetired = false;
  /** Reported by the worker once the connection drains. Null: it does not. */
  #left: number | null = null;
  #belonging = '';

  constructor(parts: ThreadConnectionParts) {
    this.remoteAddress = parts.remoteAddress;
    this.worker = parts.worker;
    this.#parts = parts;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get hasRoom(): boolean {
    return !this.#isRetired && this.#link?.hasRoom === true;
  }

  shortage(visitor: string | undefined): Shortage | null {
    return this.#isRetired ? null : (this.#link?.shortage?.(visitor) ?? null);
  }

  /** Until it drains, those that pass through this thread. */
  get active(): number {
    return this.#left ?? this.#link?.active ?? 0;
  }

  get channel(): RequestChannel | null {
    return this.#link?.channel ?? null;
  }

  /** The worker measures it. */
  get roundTripMs(): null {
    return null;
  }

  get bytes(): typeof NO_BYTES {
    return NO_BYTES;
  }

  get #link(): AgentLink | null {
    return this.#parts.link();
  }

  measureRoundTrip(): boolean {
    return false;
  }

  request(...args: Parameters<AgentLink['request']>): ClientHttp2Stream {
    return (this.#link as AgentLink).request(...args);
  }

  reset(stream: ClientHttp2Stream): void {
    this.#link?.reset(stream);
  }

  release(stream: ClientHttp2Stream): void {
    this.#link?.release(stream);
  }

  retire(): void {
    this.#isRetired = true;
    this.#order({ do: 'retire' });
  }

  greeted(): void {
    this.#order({ do: 'greeted' });
  }

  belongsTo(sessionId: string, isHome: boolean): void {
    const belonging = `${sessionId} ${isHome}`;
    if (belonging === this.#belonging) return;
    this.#belonging = belonging;
    this.#order({ do: 'belong', sessionId, isHome });
  }

  send(message: GatewayMessage): void {
    this.#order({ do: 'send', message });
  }

  sendAway(): void {
    this.#order({ do: 'sendAway' });
  }

  drain(): void {
    this.#isRetired = true;
    // It counts as busy until the worker has said how many streams it has.
    this.#left ??= 1;
    this.#order({ do: 'drain' });
  }

  refuse(code: string, message: string, retry: boolean): void {
    this.#isRetired = true;
    this.#order({ do: 'refuse', code, message, retry });
  }

  fail(reason: string): void {
    this.#isRetired = true;
    this.#order({ do: 'fail', reason });
    this.#isClosed = true;
  }

  close(): void {
    this.#isRetired = true;
    this.#order({ do: 'close' });
  }

  async isAlive(withinMs: number): Promise<boolean> {
    return !this.#isClosed && (await this.#parts.isAlive(this.#parts.number, withinMs));
  }

  // From the worker.

  drained(active: number): void {
    this.#left = active;
  }

  closed(): void {
    this.#isClosed = true;
    this.#isRetired = true;
    this.#left = 0;
  }

  #order(order: AgentOrder): void {
    if (!this.#isClosed) this.#parts.order(this.#parts.number, order);
  }
}
