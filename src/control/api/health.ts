import { rfc3339 } from '../../kit/clock.ts';
import type { StoreHealth, StoreState } from '../../store/store.ts';

/**
 * The state in `/healthz`. `starting`: not every listener is open yet. `ready`: all are. `draining`: a signal arrived,
 * requests in flight are being finished; there is no way back. Only `ready` is healthy.
 */
type HealthState = 'starting' | 'ready' | 'draining';

export class Health {
  #state: HealthState = 'starting';
  #drained: readonly (() => void)[] = [];

  get state(): HealthState {
    return this.#state;
  }

  get isReady(): boolean {
    return this.#state === 'ready';
  }

  becomeReady(): void {
    if (this.#state === 'starting') this.#state = 'ready';
  }

  /** Called once, when draining starts. */
  onDraining(listener: () => void): void {
    this.#drained = [...this.#drained, listener];
  }

  startDraining(): void {
    if (this.#state === 'draining') return;
    this.#state = 'draining';
    for (const listener of this.#drained) listener();
  }
}

interface HealthPage {
  readonly isReady: boolean;
  readonly state: string;
  readonly errorCode: string | null;
}

/**
 * While the store is only unavailable, traffic is served from memory: taking the node out of rotation would turn an
 * outage of the database into one of the service. A damaged or missing store does not recover by itself.
 */
export function healthPage(health: Health, store: StoreHealth): HealthPage {
  if (!health.isReady || store.state === 'ok') return { isReady: health.isReady, state: health.state, errorCode: null };
  return { isReady: store.state === 'degraded', state: store.state, errorCode: store.problem?.code ?? null };
}

export interface PeerHealth {
  readonly name: string;
  /** `linked`, `unreachable`, or `lost` when its lease has ended. */
  readonly status: string;
}

export interface StoreSince {
  readonly status: StoreState;
  readonly sinceMs: number;
}

/** The answer of `/healthz?verbose`. `peers`: null for those who may not know them. */
export function verboseHealth({ state }: HealthPage, store: StoreSince, peers: readonly PeerHealth[] | null) {
  return {
    status: state,
    store: { status: store.status, since: rfc3339(store.sinceMs) },
    ...(peers !== null && { peers }),
  };
}
