import { type BackendBehaviour, configOf, type Target } from '../../backends/target.ts';
import { AGENT_OFFLINE } from './no-tunnel.ts';

export const TUNNEL_BACKEND_KIND = 'tunnel';

const OFFLINE: readonly Target[] = [{ kind: 'unreachable', reason: 'agent_offline', error: AGENT_OFFLINE }];

/** The single tunnel behind an endpoint. No record has this kind. */
export const tunnelBehaviour: BackendBehaviour = {
  kind: TUNNEL_BACKEND_KIND,
  targets: (backend, ports) => {
    const target = ports.tunnels.of(configOf<{ tunnel_id: string }>(backend).tunnel_id);
    return target === null ? OFFLINE : [target];
  },
};
