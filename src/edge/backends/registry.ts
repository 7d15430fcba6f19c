import { failoverBehaviour } from './failover.ts';
import { httpResponseBehaviour } from './http-response.ts';
import { staticBehaviour } from './static.ts';
import type { BackendBehaviour } from './target.ts';
import { tunnelBehaviour } from './tunnel.ts';
import { tunnelGroupBehaviour } from './tunnel-group.ts';
import { weightedBehaviour } from './weighted.ts';

/** How each kind of backend behaves on traffic. */
export const backendBehaviours: readonly BackendBehaviour[] = [
  staticBehaviour,
  httpResponseBehaviour,
  weightedBehaviour,
  failoverBehaviour,
  tunnelGroupBehaviour,
  tunnelBehaviour,
];
