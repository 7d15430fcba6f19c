import { rfc3339 } from '../lib/clock.ts';
import type { StoreState } from '../store/store.ts';
import type { HealthPage } from './health-page.ts';

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
