import { access } from './access/access.ts';
import { backend } from './backend/backend.ts';
import { basicAuth } from './basic_auth/basic-auth.ts';
import { circuitBreaker } from './circuit_breaker/circuit-breaker.ts';
import { compression } from './compression/compression.ts';
import type { Module } from './contract/module.ts';
import { ipRestriction } from './ip_restriction/ip-restriction.ts';
import { maintenance } from './maintenance/maintenance.ts';
import { mutualTls } from './mutual_tls/mutual-tls.ts';
import { oauth } from './oauth/oauth.ts';
import { oidc } from './oidc/oidc.ts';
import { rateLimit } from './rate_limit/rate-limit.ts';
import { redirect } from './redirect/redirect.ts';
import { requestHeaders } from './request_headers/request-headers.ts';
import { responseHeaders } from './response_headers/response-headers.ts';
import { rewrite } from './rewrite/rewrite.ts';
import { tlsTermination } from './tls_termination/tls-termination.ts';
import { userAgentFilter } from './user_agent_filter/user-agent-filter.ts';

/**
 * Every module, in the order of traffic. The order is security: who may connect, from where, who they are, and only
 * then how the response is changed and which backend responds. Responses pass the modules in reverse order.
 * docs/reference/modules.md has the reason for each place.
 */
export const modules: readonly Module[] = [
  tlsTermination,
  mutualTls,
  ipRestriction,
  userAgentFilter,
  maintenance,
  rateLimit,
  redirect,
  basicAuth,
  oidc,
  oauth,
  access,
  circuitBreaker,
  responseHeaders,
  compression,
  rewrite,
  requestHeaders,
  backend,
];
