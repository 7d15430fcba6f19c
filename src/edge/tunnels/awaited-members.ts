import type { Upstream, UpstreamExchange, UpstreamHandler, UpstreamRequest } from '../../upstream/upstream.ts';
import { failed } from '../../upstream/upstream-failure.ts';
import { RetryWhileSuspended } from './retry-while-suspended.ts';

export interface AwaitedMembersPorts {
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
