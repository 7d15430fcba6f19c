import { guarded, type ListenerOwner } from '../../../kit/guarded-listeners.ts';
import type { Shortage } from '../../../kit/net/shared-places.ts';
import type { Upstream, UpstreamExchange, UpstreamHandler, UpstreamRequest } from '../../upstream/upstream.ts';
import { failed } from '../../upstream/upstream-failure.ts';
import type { AgentLink, OnlineTunnel, OnlineTunnels } from './online-tunnels.ts';
import { TunnelUse } from './tunnel-use.ts';

/**
 * A tunnel that nobody announces while this node is not linked with all others: it has just woken, or a link broke. Its
 * visitors wait, as they do for the right to serve it, until another node announces it or all are linked.
 */
class AwaitedTunnel implements OnlineTunnel {
  readonly id: string;
  inFlight = 0;
  readonly #tunnels: OnlineTunnels;
  readonly #ownUse = new TunnelUse();

  constructor(id: string, tunnels: OnlineTunnels) {
    this.id = id;
    this.#tunnels = tunnels;
  }

  get forwardsTo(): string {
    return this.#now?.forwardsTo ?? '';
  }

  get use(): TunnelUse {
    return this.#now?.use ?? this.#ownUse;
  }

  get isSuspended(): boolean {
    const now = this.#now;
    return now === undefined ? this.#tunnels.isUnsettled === true : now.isSuspended === true;
  }

  link(tried?: readonly AgentLink[], visitor?: string): AgentLink | null {
    return this.#now?.link(tried, visitor) ?? null;
  }

  shortage(visitor: string | undefined): Shortage | null {
    return this.#now?.shortage?.(visitor) ?? null;
  }

  mayTry(): boolean {
    return this.#now?.mayTry?.() !== false;
  }

  refused(): void {
    this.#now?.refused?.();
  }

  get #now(): OnlineTunnel | undefined {
    return this.#tunnels.get(this.id);
  }
}

/** Null: nobody can announce it in a moment. */
export function awaitedTunnel(id: string, tunnels: OnlineTunnels): OnlineTunnel | null {
  return tunnels.isUnsettled === true ? new AwaitedTunnel(id, tunnels) : null;
}

/**
 * Longer than a node needs to renew a lease that ended while it stood still, or to take over the sessions of a lost
 * one.
 */
const RETRY_FOR_MS = 2_000;
const LOOK_EVERY_MS = 25;

interface Awaited {
  /** Whether a way to the agent may open in a moment. */
  isSuspended(): boolean;
  /** False: there is still no way to the agent. */
  attempt(): boolean;
  giveUp(): void;
}

/**
 * A visitor waits for a moment while nobody may serve the name of an agent: most nodes regain the right as soon as the
 * database answers, and take over the sessions of a lost one. Nothing is sent without the right.
 */
export class RetryWhileSuspended {
  // Looks, not time: a process that stands still again must not give up before it has read the database's answer.
  #looksLeft = RETRY_FOR_MS / LOOK_EVERY_MS;
  #timer: NodeJS.Timeout | null = null;
  #attemptedAtMs: number | null = null;

  /**
   * Ends with an attempt that succeeds, or gives up. After an attempt it can be called again, for the rest of the time.
   */
  await(owner: ListenerOwner, awaited: Awaited): void {
    // An agent that lets each attempt wait must not prolong the whole.
    if (this.#attemptedAtMs !== null) this.#looksLeft -= (performance.now() - this.#attemptedAtMs) / LOOK_EVERY_MS;
    const look = guarded(owner, () => {
      this.#attemptedAtMs = performance.now();
      if (this.#looksLeft > 0 && awaited.attempt()) return;
      this.#looksLeft -= 1;
      if (awaited.isSuspended() && this.#looksLeft > 0) this.#timer = setTimeout(look, LOOK_EVERY_MS);
      else awaited.giveUp();
    });
    this.#timer = setTimeout(look, LOOK_EVERY_MS);
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
  }
}

interface AwaitedMembersPorts {
  /** The best member now; null: there is none. */
  readonly member: () => Upstream | null;
  /** Whether this node is not linked with all others, which may announce a member in a moment. */
  readonly isUnsettled: () => boolean;
}

const NO_MEMBER = 'no tunnel with these labels is online';

/** A tunnel group without members that this node knows, while it is not linked with all others: see `AwaitedTunnel`. */
export class AwaitedMembers implements Upstream {
  readonly #ports: AwaitedMembersPorts;

  constructor(ports: AwaitedMembersPorts) {
    this.#ports = ports;
  }

  send(request: UpstreamRequest, handler: UpstreamHandler): UpstreamExchange {
    const { member, isUnsettled } = this.#ports;
    const retry = new RetryWhileSuspended();
    let inner: UpstreamExchange | null = null;
    const { body } = request;
    if (body.framing !== 'none') body.source.pause();
    const owner = { contain: (error: unknown) => handler.onBug(error) };
    retry.await(owner, {
      isSuspended: isUnsettled,
      attempt: () => {
        inner = member()?.send(request, handler) ?? null;
        return inner !== null;
      },
      giveUp: () => handler.onFailure(failed('connect', 'no_tunnel', NO_MEMBER, false)),
    });
    return {
      get heldBytes() {
        return inner?.heldBytes ?? 0;
      },
      resume: () => inner?.resume(),
      abort: () => {
        retry.stop();
        inner?.abort();
      },
    };
  }

  drain(): Promise<void> {
    return Promise.resolve();
  }

  stats(): { readonly idle: number; readonly active: number } {
    return { idle: 0, active: 0 };
  }
}
