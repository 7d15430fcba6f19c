import { type BackendSnapshot, type Target, type TargetPorts, TUNNEL_BACKEND_KIND } from '../../backends/backend.ts';
import { backendOfRecordKind } from '../../backends/record-kinds.ts';
import { tunnelTargets } from '../tunnels/tunnel-backend.ts';
import type { TunnelTargets } from '../tunnels/tunnel-targets.ts';

export interface BackendTargetsOptions extends Pick<TargetPorts, 'upstreamFor' | 'random'> {
  readonly tunnels: TunnelTargets;
}

/** The targets of a backend, by its kind. An unknown kind has none: the request is rejected. */
export function backendTargets(options: BackendTargetsOptions): (backend: BackendSnapshot) => readonly Target[] {
  const { tunnels, random } = options;
  const ports: TargetPorts = {
    upstreamFor: options.upstreamFor,
    random,
    tunnelsWith: (labels) => tunnels.withLabels(labels, random),
    targetsOf,
  };
  function targetsOf(backend: BackendSnapshot): readonly Target[] {
    if (backend.kind === TUNNEL_BACKEND_KIND) return tunnelTargets(backend, tunnels);
    return backendOfRecordKind(backend.kind)?.targets(backend as never, ports) ?? [];
  }
  return targetsOf;
}
