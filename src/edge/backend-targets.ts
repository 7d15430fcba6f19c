import type { BackendBehaviour, BackendPorts, Target } from '../backends/target.ts';
import type { BackendSnapshot } from '../snapshot/edge-snapshot.ts';
import { backendBehaviours } from './backend-behaviours.ts';

/** The targets of a backend, by its kind. An unknown kind has none: the request is rejected. */
export function backendTargets(
  ports: Omit<BackendPorts, 'targetsOf'>,
): (backend: BackendSnapshot) => readonly Target[] {
  const byKind = new Map<string, BackendBehaviour>(backendBehaviours.map((behaviour) => [behaviour.kind, behaviour]));
  const targetsOf = (backend: BackendSnapshot): readonly Target[] =>
    byKind.get(backend.kind)?.targets(backend, all) ?? [];
  const all: BackendPorts = { ...ports, targetsOf };
  return targetsOf;
}
