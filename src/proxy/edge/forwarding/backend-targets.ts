import { type BackendSnapshot, type Target, type TargetPorts, TUNNEL_BACKEND_KIND } from '../../../backends/backend.ts';
import { backendOfRecordKind } from '../../../backends/record-kinds.ts';
import type { DeadlineTicker } from '../../upstream/deadline-ticker.ts';
import type { Upstream, UpstreamLimits } from '../../upstream/upstream.ts';
import { AwaitedMembers, awaitedTunnel } from '../tunnels/awaited-tunnel.ts';
import type { OnlineTunnel, OnlineTunnels } from '../tunnels/online-tunnels.ts';
import { AGENT_OFFLINE, NO_TUNNEL, NODE_ISOLATED } from '../tunnels/tunnel-failures.ts';
import { always, TunnelUpstream } from '../tunnels/tunnel-upstream.ts';

interface BackendTargetsOptions extends Pick<TargetPorts<Upstream>, 'upstreamFor' | 'folderOf' | 'random'> {
  readonly tunnels: TunnelTargets;
}

/** The targets of a backend, by its kind. An unknown kind has none: the request is rejected. */
export function backendTargets(
  options: BackendTargetsOptions,
): (backend: BackendSnapshot) => readonly Target<Upstream>[] {
  const { tunnels, random } = options;
  const ports: TargetPorts<Upstream> = {
    upstreamFor: options.upstreamFor,
    folderOf: options.folderOf,
    random,
    tunnelsWith: (labels) => tunnels.withLabels(labels, random),
    targetsOf,
  };
  function targetsOf(backend: BackendSnapshot): readonly Target<Upstream>[] {
    if (backend.kind === TUNNEL_BACKEND_KIND) return tunnelTargets(backend, tunnels);
    return backendOfRecordKind(backend.kind)?.targets(backend as never, ports) ?? [];
  }
  return targetsOf;
}

interface TunnelTarget {
  readonly kind: 'upstream';
  readonly upstream: TunnelUpstream;
  readonly name: string;
}

interface Group {
  readonly generation: number;
  readonly members: readonly TunnelTarget[];
}

/** One request tries at most this many members of a group: its client waits in the meantime. */
const MAX_TRIES = 16;
const AT_THE_END = 1e9;
const NONE: readonly TunnelTarget[] = [];
const NONE_ONLINE: readonly Target<Upstream>[] = [{ kind: 'unreachable', reason: 'no_tunnel', error: NO_TUNNEL }];

type Labels = Readonly<Record<string, string>>;

interface TunnelTargetsOptions {
  readonly tunnels: OnlineTunnels;
  readonly limits: UpstreamLimits;
  readonly ticker: DeadlineTicker;
  readonly mayServe: () => boolean;
}

/** Online tunnels as targets of requests. */
export class TunnelTargets {
  readonly #tunnels: OnlineTunnels;
  readonly #limits: UpstreamLimits;
  readonly #ticker: DeadlineTicker;
  readonly #targets = new WeakMap<OnlineTunnel, TunnelTarget>();
  /** Whether this process may serve names of agents now. Tunnels with labels need no name. */
  readonly mayServe: () => boolean;
  /**
   * By the labels' object, which represents the version: members change only when it does, or a tunnel comes or goes.
   */
  readonly #groups = new WeakMap<Labels, Group>();

  constructor(options: TunnelTargetsOptions) {
    this.#tunnels = options.tunnels;
    this.#limits = options.limits;
    this.#ticker = options.ticker;
    this.mayServe = options.mayServe;
  }

  of(tunnelId: string): TunnelTarget | null {
    const tunnel = this.#tunnels.get(tunnelId) ?? awaitedTunnel(tunnelId, this.#tunnels);
    return tunnel === null ? null : this.#targetOf(tunnel, this.mayServe);
  }

  /** The tunnels with all of these labels, least busy first; ties are broken at random. */
  withLabels(labels: Labels, random: () => number): readonly Target<Upstream>[] {
    const members = this.#membersOf(labels);
    if (members.length === 0) return this.#tunnels.isUnsettled === true ? this.#awaited(labels) : NONE_ONLINE;
    if (members.length === 1) return members;
    const keys: number[] = [];
    const best: TunnelTarget[] = [];
    for (const member of members) {
      // The random part is less than one. Unreachable tunnels come last.
      const { tunnel, isResting } = member.upstream;
      const key = (tunnel.inFlightInAll ?? tunnel.inFlight) + random() + (isResting ? AT_THE_END : 0);
      if (best.length === MAX_TRIES && key >= (keys[MAX_TRIES - 1] as number)) continue;
      let at = best.length === MAX_TRIES ? MAX_TRIES - 1 : best.length;
      while (at > 0 && key < (keys[at - 1] as number)) {
        keys[at] = keys[at - 1] as number;
        best[at] = best[at - 1] as TunnelTarget;
        at -= 1;
      }
      keys[at] = key;
      best[at] = member;
    }
    return best;
  }

  #awaited(labels: Labels): readonly Target<Upstream>[] {
    const upstream = new AwaitedMembers({
      member: () => this.#membersOf(labels)[0]?.upstream ?? null,
      isUnsettled: () => this.#tunnels.isUnsettled === true,
    });
    return [{ kind: 'upstream', upstream, name: 'tunnel group' }];
  }

  #membersOf(labels: Labels): readonly TunnelTarget[] {
    const { generation } = this.#tunnels;
    const known = this.#groups.get(labels);
    if (known?.generation === generation) return known.members;
    const found = this.#tunnels.matching(labels);
    const members = found.length === 0 ? NONE : found.map((tunnel) => this.#targetOf(tunnel, always));
    this.#groups.set(labels, { generation, members });
    return members;
  }

  /** A tunnel has a name or labels, so it always comes with the same right. */
  #targetOf(tunnel: OnlineTunnel, mayServe: () => boolean): TunnelTarget {
    const known = this.#targets.get(tunnel);
    if (known !== undefined) return known;
    const upstream = new TunnelUpstream(tunnel, this.#limits, this.#ticker, mayServe);
    const made: TunnelTarget = { kind: 'upstream', upstream, name: tunnel.id };
    this.#targets.set(tunnel, made);
    return made;
  }
}

const OFFLINE: readonly Target<Upstream>[] = [{ kind: 'unreachable', reason: 'agent_offline', error: AGENT_OFFLINE }];
const ISOLATED: readonly Target<Upstream>[] = [{ kind: 'unreachable', reason: 'node_isolated', error: NODE_ISOLATED }];

function tunnelTargets(backend: BackendSnapshot, tunnels: TunnelTargets): readonly Target<Upstream>[] {
  const target = tunnels.of(backend.config['tunnel_id'] as string);
  if (target !== null) return [target];
  return tunnels.mayServe() ? OFFLINE : ISOLATED;
}
