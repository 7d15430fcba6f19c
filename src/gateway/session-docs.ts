import type { JsonObject } from '../lib/json.ts';
import { ALPN } from '../tunnel/protocol.ts';
import type { AgentSession } from './agent-session.ts';
import type { BoundTunnel } from './bound-tunnel.ts';
import type { GatewayPorts } from './ports.ts';

/** What the documents of endpoints need besides the tunnel. */
export type DocumentFacts = Pick<GatewayPorts, 'region' | 'entryRules'>;

/** What `GET /tunnel_sessions` shows. */
export function sessionDoc({ hello, connections, startedAt, problems }: AgentSession, region: string): JsonObject {
  return {
    agent_version: hello.agent_version,
    ip: connections[0]?.remoteAddress ?? '',
    metadata: hello.metadata,
    os: hello.os,
    region,
    started_at: startedAt,
    transport: ALPN,
    remote_management: hello.remote_management,
    // For the list of problems.
    ...(problems.length > 0 && { problems: [...problems] }),
  };
}

/** What `GET /tunnels` shows. */
export function tunnelDoc(tunnel: BoundTunnel, region: string): JsonObject {
  return {
    ...(tunnel.publicUrl !== null && { public_url: tunnel.publicUrl }),
    started_at: tunnel.startedAt,
    metadata: tunnel.metadata,
    session_metadata: tunnel.session.hello.metadata,
    ...(tunnel.proto !== null && { proto: tunnel.proto }),
    region,
    ...(tunnel.endpointId !== null && { endpoint_id: tunnel.endpointId }),
    ...(tunnel.labels !== null && { labels: { ...tunnel.labels } }),
    forwards_to: tunnel.forwardsTo,
  };
}

/** What `GET /endpoints` shows. */
export function endpointDoc(tunnel: BoundTunnel, { region, entryRules }: DocumentFacts): JsonObject {
  return {
    region,
    created_at: tunnel.startedAt,
    updated_at: tunnel.startedAt,
    public_url: tunnel.publicUrl ?? '',
    proto: tunnel.proto ?? '',
    hostport: tunnel.hostport ?? '',
    type: 'ephemeral',
    metadata: tunnel.metadata,
    tunnel_id: tunnel.id,
    ...(entryRules !== undefined && { entry_rules: [...entryRules(tunnel.modules)] }),
  };
}
