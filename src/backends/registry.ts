import type { ConfigurationResource } from '../resources/resource.ts';
import { failover } from './failover/failover.ts';
import { httpResponse } from './http_response/http-response.ts';
import { staticBackend } from './static/static.ts';
import { tunnelGroup } from './tunnel_group/tunnel-group.ts';
import { weighted } from './weighted/weighted.ts';

/** Every kind of backend. */
export const backends: readonly ConfigurationResource[] = [
  tunnelGroup,
  weighted,
  failover,
  httpResponse,
  staticBackend,
];
