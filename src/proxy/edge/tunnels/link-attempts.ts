import { takes } from '../../../kit/net/shared-places.ts';
import type { AgentLink, OnlineTunnel } from './online-tunnels.ts';

/** Ways to the agent that one request tries: its connections here, and nodes that announced the tunnel. */
const MAX_TRIES = 4;
/**
 * After this many lost connections to the agent the request itself may be the cause. Links between nodes may fail at
 * the same time.
 */
const MAX_REPEATS = 1;
const MAX_REPEATS_BY_PEERS = 2;

/** The ways to an agent that one request has tried, and which one is next. Most requests need none of this. */
export class LinkAttempts {
  #tried: AgentLink[] = [];
  /** The first way, once more, when there is no other. */
  #lastResort: AgentLink | null = null;
  #losses = 0;

  /** What was sent on one of them was lost. */
  get hasLost(): boolean {
    return this.#losses > 0;
  }

  get isLast(): boolean {
    return this.#tried.length >= MAX_TRIES;
  }

  /** The connection of this way had ended before anything was sent. */
  ended(link: AgentLink): void {
    this.#tried.push(link);
  }

  /** What was sent was refused unprocessed, or lost. */
  failed(link: AgentLink, wasRefused: boolean): void {
    if (this.#tried.length === 0 && isWorthAnotherTry(link, wasRefused)) this.#lastResort = link;
    this.#tried.push(link);
  }

  /** Whether a safe request that was lost on this way may be sent again. */
  mayRepeat({ relay }: AgentLink): boolean {
    this.#losses += 1;
    if (relay === 'thread') return false;
    return this.#losses <= (relay === 'node' ? MAX_REPEATS_BY_PEERS : MAX_REPEATS);
  }

  /** Null: no way is left. */
  next(tunnel: OnlineTunnel, visitor: string | undefined): AgentLink | null {
    const link = this.isLast ? null : tunnel.link(this.#tried, visitor);
    if (link !== null && !this.#tried.includes(link)) return link;
    const last = this.#lastResort;
    this.#lastResort = null;
    return last !== null && takes(last, visitor) ? last : null;
  }

  /** All of them may be tried again. What was lost stays lost. */
  forget(): void {
    this.#tried = [];
    this.#lastResort = null;
  }
}

/**
 * An agent that refused one stream may take the next. A node that lost one connection to the agent may have another.
 * The main thread has tried all ways itself.
 */
function isWorthAnotherTry({ relay }: AgentLink, wasRefused: boolean): boolean {
  return relay === 'node' ? !wasRefused : relay !== 'thread' && wasRefused;
}
