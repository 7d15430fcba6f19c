import type { BackendSnapshot, TargetPorts } from '../backend-snapshot.ts';
import type { Target } from '../target.ts';

/** Members in order; the edge tries the next one only when a member cannot be reached. */
export function failoverTargets(
  { config, members }: BackendSnapshot<{ readonly backends: readonly string[] }>,
  ports: TargetPorts,
): readonly Target[] {
  return config.backends.flatMap((id) => {
    const member = members.get(id);
    return member === undefined ? [] : ports.targetsOf(member);
  });
}
