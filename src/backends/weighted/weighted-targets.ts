import type { BackendSnapshot } from '../../snapshot/edge-snapshot.ts';
import { type BackendBehaviour, configOf } from '../target.ts';

/** One member per request, by its share of the weights. A deleted member has no share. */
export const weightedBehaviour: BackendBehaviour = {
  kind: 'weighted_backend',
  targets: (backend, ports) => {
    const { backends } = configOf<{ backends: Record<string, number> }>(backend);
    const shares = [...backend.members].map(([id, member]): [BackendSnapshot, number] => [member, backends[id] ?? 0]);
    let left = ports.random() * shares.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [member, weight] of shares) {
      if (left < weight) return ports.targetsOf(member);
      left -= weight;
    }
    return [];
  },
};
