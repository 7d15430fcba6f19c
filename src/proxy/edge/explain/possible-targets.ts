import { type BackendSnapshot, type Target, TUNNEL_BACKEND_KIND } from '../../../backends/backend.ts';
import { backendOfRecordKind } from '../../../backends/record-kinds.ts';
import { isJsonObject } from '../../../kit/json.ts';
import type { Upstream } from '../../upstream/upstream.ts';
import { failed, REASON_OF_SHORTAGE } from '../../upstream/upstream-failure.ts';
import { failureAnswer } from '../forwarding/upstream-failures.ts';
import type { OnlineTunnel, OnlineTunnels } from '../tunnels/online-tunnels.ts';
import { AGENT_OFFLINE, NO_TUNNEL, NODE_ISOLATED, TUNNEL_FULL } from '../tunnels/tunnel-failures.ts';
import type { ExplainedTarget } from './explanation.ts';

/** Tunnels and upstreams that this node can reach. */
export interface ReachView {
  readonly online: OnlineTunnels;
  mayServe(): boolean;
  /** Whether the edge may not connect to this upstream. */
  isForbidden(upstream: string): boolean;
}

export interface PossibleTarget extends ExplainedTarget {
  /** The status, where the edge itself responds. */
  readonly status?: number;
  readonly errorCode?: string;
}

/** The reason that requests show for an address that the upstream guard rejects. */
export const FORBIDDEN_ADDRESS = 'forbidden_address';
const UNREACHABLE = failureAnswer(failed('connect', FORBIDDEN_ADDRESS, '', false));

/** Nothing is opened and nothing is sent. */
const INERT_UPSTREAM: Upstream = {
  send: () => {
    throw new Error('an explanation sends nothing');
  },
  drain: () => Promise.resolve(),
  stats: () => ({ idle: 0, active: 0 }),
};

/** Every target that a request to this backend could get, in no order: weights and load decide between them. */
export function possibleTargets(backend: BackendSnapshot, reach: ReachView): readonly PossibleTarget[] {
  if (backend.kind === TUNNEL_BACKEND_KIND) return [agentTarget(backend, reach)];
  if (backend.members.size > 0) {
    const members = [...backend.members].filter(([id]) => hasShare(backend, id));
    return distinct(members.flatMap(([, member]) => possibleTargets(member, reach)));
  }
  const labelled: PossibleTarget[] = [];
  const found = backendOfRecordKind(backend.kind)?.targets(backend as never, {
    upstreamFor: () => INERT_UPSTREAM,
    folderOf: () => INERT_UPSTREAM,
    random: () => 0,
    tunnelsWith: (labels) => {
      const online = reach.online.matching(labels);
      labelled.push(...(online.length === 0 ? [unreachable('no_tunnel', NO_TUNNEL)] : online.map(tunnelTarget)));
      return [];
    },
    targetsOf: () => [],
  });
  return distinct([...labelled, ...(found ?? []).map((target) => targetOf(target, reach))]);
}

/** A member with the weight 0 gets nothing. */
function hasShare({ config }: BackendSnapshot, id: string): boolean {
  const { backends } = config;
  return !isJsonObject(backends) || backends[id] !== 0;
}

function agentTarget({ config }: BackendSnapshot, reach: ReachView): PossibleTarget {
  if (!reach.mayServe()) return unreachable('node_isolated', NODE_ISOLATED);
  const tunnel = reach.online.get(config['tunnel_id'] as string);
  return tunnel === undefined ? unreachable('agent_offline', AGENT_OFFLINE) : tunnelTarget(tunnel);
}

function tunnelTarget(tunnel: OnlineTunnel): PossibleTarget {
  const link = tunnel.link();
  if (link === null && tunnel.shortage?.(undefined) === 'full')
    return unreachable(REASON_OF_SHORTAGE.full, TUNNEL_FULL);
  const node = link?.nodeName;
  return { name: tunnel.id, kind: 'tunnel', forwardsTo: tunnel.forwardsTo, ...(node !== undefined && { node }) };
}

function targetOf(target: Target<Upstream>, reach: ReachView): PossibleTarget {
  if (target.kind === 'unreachable') return unreachable(target.reason, target.error);
  if (target.kind === 'response') return { name: target.name, kind: 'response', status: target.status };
  if (reach.isForbidden(target.name)) return unreachable(FORBIDDEN_ADDRESS, UNREACHABLE);
  return { name: target.name, kind: 'upstream' };
}

function unreachable(reason: string, { status, code }: { status: number; code: string }): PossibleTarget {
  return { name: reason, kind: 'unreachable', status, errorCode: code };
}

function distinct(targets: readonly PossibleTarget[]): readonly PossibleTarget[] {
  return [...new Map(targets.map((target) => [`${target.kind} ${target.name} ${target.status}`, target])).values()];
}
