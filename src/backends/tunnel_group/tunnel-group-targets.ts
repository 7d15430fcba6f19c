import { NO_TUNNEL } from '../../edge/tunnels/no-tunnel.ts';
import type { BackendBehaviour, Target } from '../target.ts';

const NONE_ONLINE: readonly Target[] = [{ kind: 'unreachable', reason: 'no_tunnel', error: NO_TUNNEL }];

/** Tunnels with all labels of the backend, least busy first; the others follow when one cannot be reached. */
export const tunnelGroupBehaviour: BackendBehaviour = {
  kind: 'tunnel_group_backend',
  targets: (backend, ports) => {
    const online = ports.tunnels.ofGroup(backend, () => ports.random());
    return online.length === 0 ? NONE_ONLINE : online;
  },
};
