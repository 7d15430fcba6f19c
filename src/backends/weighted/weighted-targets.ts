import type { BackendSnapshot, TargetPorts } from '../backend-snapshot.ts';
import type { Target } from '../target.ts';

/** One member per request, by its share of the weights. A member that is gone has no share. */
export function weightedTargets(
  { config, members }: BackendSnapshot<{ readonly backends: Readonly<Record<string, number>> }>,
  ports: TargetPorts,
): readonly Target[] {
  const shares = [...members].map(([id, member]): [BackendSnapshot, number] => [member, config.backends[id] ?? 0]);
  let left = ports.random() * shares.reduce((sum, [, weight]) => sum + weight, 0);
  for (const [member, weight] of shares) {
    if (left < weight) return ports.targetsOf(member);
    left -= weight;
  }
  return [];
}
