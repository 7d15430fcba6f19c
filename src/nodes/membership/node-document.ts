import type { JsonObject, JsonValue } from '../../lib/json.ts';
import type { StoredNode } from '../../store/node-store.ts';
import type { NodeFacts, NodeRow } from '../node.ts';

export interface NodeCounts {
  readonly agents: number;
  readonly tunnels: number;
}

/** The document in a node's row, beside the lease. */
export function documentOf(facts: NodeFacts, counts: NodeCounts, problems: readonly string[]): JsonObject {
  return {
    v: 1,
    name: facts.name,
    version: facts.version,
    roles: facts.roles,
    region: facts.region,
    peer_address: facts.peerAddress,
    tunnel_address: facts.tunnelAddress,
    agents: counts.agents,
    tunnels: counts.tunnels,
    problems,
  };
}

/** Another version may have written the row: unknown fields are ignored, and absent fields have plain values. */
export function rowOf(
  { id, status, startedAtMs, lastSeenAtMs, leaseEndsAtMs, doc }: StoredNode,
  nowMs: number,
): NodeRow {
  return {
    id,
    name: textOf(doc['name']) ?? id,
    version: textOf(doc['version']) ?? '',
    roles: textsOf(doc['roles']),
    region: textOf(doc['region']) ?? '',
    startedAtMs,
    peerAddress: textOf(doc['peer_address']),
    tunnelAddress: textOf(doc['tunnel_address']),
    status: leaseEndsAtMs > nowMs ? status : 'lost',
    lastSeenAtMs,
    leaseEndsAtMs,
    agents: countOf(doc['agents']),
    tunnels: countOf(doc['tunnels']),
    problems: textsOf(doc['problems']),
  };
}

function textOf(value: JsonValue | undefined): string | null {
  return typeof value === 'string' ? value : null;
}

function textsOf(value: JsonValue | undefined): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

function countOf(value: JsonValue | undefined): number {
  return typeof value === 'number' ? value : 0;
}
