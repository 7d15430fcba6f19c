import type { JsonObject } from '../../lib/json.ts';
import type { TrafficRequest } from '../contract/traffic-request.ts';
import { originOf } from './flow/return-target.ts';
import { Grant, type GrantDoc } from './sessions/grant.ts';
import { grantClaims } from './sessions/user-fields.ts';

export interface AssumedClient {
  readonly edgeId: string;
  readonly routeId: string;
  readonly issuer: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
}

/** A login that somebody could have, for explanations. It is in no store. */
export function assumedGrant(request: TrafficRequest, claims: JsonObject, client: AssumedClient): Grant {
  const { edgeId, routeId, issuer, clientId, scopes } = client;
  const { sub = 'assumed' } = claims;
  const doc: GrantDoc = {
    public_url: originOf(request),
    user_agent: '',
    ip_address: request.clientAddress,
    created_at: new Date(request.nowMs).toISOString(),
    route_id: routeId,
    host: request.host,
    scopes,
    subject: typeof sub === 'string' ? sub : 'assumed',
    ...grantClaims(claims),
    access_expires_at_ms: null,
    refreshed_at_ms: request.nowMs,
  };
  return new Grant({
    id: 'as_assumed',
    userId: 'au_assumed',
    keyHash: '',
    edgeId,
    issuer,
    clientId,
    providerSessionId: null,
    lastActiveMs: request.nowMs,
    expiresAtMs: 0,
    version: 0,
    doc: doc as never,
    secrets: null,
  });
}
