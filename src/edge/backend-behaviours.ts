import { failoverBehaviour } from '../backends/failover/failover-targets.ts';
import { httpResponseBehaviour } from '../backends/http_response/http-response-targets.ts';
import { staticBehaviour } from '../backends/static/static-targets.ts';
import type { BackendBehaviour } from '../backends/target.ts';
import { tunnelGroupBehaviour } from '../backends/tunnel_group/tunnel-group-targets.ts';
import { weightedBehaviour } from '../backends/weighted/weighted-targets.ts';
import { tunnelBehaviour } from './tunnels/tunnel-backend.ts';

/** How each kind of backend behaves on traffic. */
export const backendBehaviours: readonly BackendBehaviour[] = [
  staticBehaviour,
  httpResponseBehaviour,
  weightedBehaviour,
  failoverBehaviour,
  tunnelGroupBehaviour,
  tunnelBehaviour,
];
