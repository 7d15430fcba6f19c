import { type Backend, recordKindOf } from './backend.ts';
import { backends } from './registry.ts';

/** Record kinds of a field that accepts any backend. */
export const backendRecordKinds: readonly string[] = backends.map(recordKindOf);

const byRecordKind = new Map<string, Backend>(backends.map((backend) => [recordKindOf(backend), backend]));

export function backendOfRecordKind(kind: string): Backend | undefined {
  return byRecordKind.get(kind);
}
