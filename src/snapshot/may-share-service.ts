import type { BackendSnapshot } from '../backends/backend-snapshot.ts';
import { backendOfRecordKind } from '../backends/record-kinds.ts';

/** Whether requests to two backends, or to members of them, may reach the same service. */
export function mayShareService(one: BackendSnapshot | null, other: BackendSnapshot | null): boolean {
  if (one === null || other === null) return false;
  const others = withMembers(other);
  return withMembers(one).some((each) => others.some((another) => sendToSame(each, another)));
}

function withMembers(backend: BackendSnapshot): readonly BackendSnapshot[] {
  return [backend, ...[...backend.members.values()].flatMap(withMembers)];
}

function sendToSame(one: BackendSnapshot, other: BackendSnapshot): boolean {
  if (one.kind !== other.kind) return false;
  return (
    one.id === other.id ||
    backendOfRecordKind(one.kind)?.maySendToSame?.(one.config as never, other.config as never) === true
  );
}
