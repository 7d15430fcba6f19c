import type { BackendSnapshot } from '../backends/backend-snapshot.ts';
import { backendOfRecordKind } from '../backends/record-kinds.ts';
import { withMembers } from './compile-backend.ts';

/** By both backends, whose identity stands for their version: two with a hundred members each are ten thousand pairs. */
const known = new WeakMap<BackendSnapshot, WeakMap<BackendSnapshot, boolean>>();

/** So many are compared in a tenth of a second. More count as shared, because that refuses a rewrite instead of allowing it. */
const MAX_PAIRS = 100_000;

/** Whether requests to two backends, or to members of them, may reach the same service. */
export function mayShareService(one: BackendSnapshot | null, other: BackendSnapshot | null): boolean {
  if (one === null || other === null) return false;
  let ofOne = known.get(one);
  if (ofOne === undefined) {
    ofOne = new WeakMap();
    known.set(one, ofOne);
  }
  let isShared = ofOne.get(other);
  if (isShared === undefined) {
    const [all, others] = [[...withMembers(one)], [...withMembers(other)]];
    isShared =
      all.length * others.length > MAX_PAIRS || all.some((each) => others.some((another) => sendToSame(each, another)));
    ofOne.set(other, isShared);
  }
  return isShared;
}

function sendToSame(one: BackendSnapshot, other: BackendSnapshot): boolean {
  if (one.kind !== other.kind) return false;
  return (
    one.id === other.id ||
    backendOfRecordKind(one.kind)?.maySendToSame?.(one.config as never, other.config as never) === true
  );
}
