import type { BackendSnapshot, Target } from '../../backends/backend.ts';
import { AGENT_OFFLINE, NODE_ISOLATED } from './no-tunnel.ts';
import type { TunnelTargets } from './tunnel-targets.ts';

const OFFLINE: readonly Target[] = [{ kind: 'unreachable', reason: 'agent_offline', error: AGENT_OFFLINE }];
const ISOLATED: readonly Target[] = [{ kind: 'unreachable', reason: 'node_isolated', error: NODE_ISOLATED }];

export function tunnelTargets(backend: BackendSnapshot, tunnels: TunnelTargets): readonly Target[] {
  const target = tunnels.of(backend.config['tunnel_id'] as string);
  if (target !== null) return [target];
  return tunnels.mayServe() ? OFFLINE : ISOLATED;
}
