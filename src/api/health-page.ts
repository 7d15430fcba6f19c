import type { StoreHealth } from '../store/store.ts';
import type { Health } from './health.ts';

export interface HealthPage {
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
