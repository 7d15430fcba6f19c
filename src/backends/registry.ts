import type { Backend } from './backend.ts';
import { failover } from './failover/failover.ts';
import { files } from './files/files.ts';
import { httpResponse } from './http_response/http-response.ts';
import { staticBackend } from './static/static.ts';
import { tunnelGroup } from './tunnel_group/tunnel-group.ts';
import { weighted } from './weighted/weighted.ts';

/** Every kind of backend, in the order in which documentation lists them. */
export const backends: readonly Backend[] = [tunnelGroup, weighted, failover, httpResponse, staticBackend, files];
