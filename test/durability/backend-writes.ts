import type { JsonObject } from '../../src/kit/json.ts';
import type { Random } from '../support/random.ts';
import { BACKEND_KINDS, idsOf } from './module-writes.ts';
import {
  create,
  MOST_OF_A_KIND,
  owned,
  type Plan,
  type PlannedWrite,
  pathOf,
  REFERENCE_GONE,
  type Workload,
} from './planned-write.ts';

/** Backends, which refer to each other. */
export const backendPlans: readonly Plan[] = [createBackend, createBackend, patchBackend];

function createBackend(workload: Workload): PlannedWrite | null {
  const { random } = workload;
  if (owned(workload, BACKEND_KINDS).length >= 2 * MOST_OF_A_KIND) return null;
  return newBackend(random.pick(BACKEND_KINDS) ?? '', workload);
}

export function newBackend(kind: string, workload: Workload): PlannedWrite {
  const { random, ledger } = workload;
  const marker = workload.newMarker();
  const others = random.some(idsOf(ledger, BACKEND_KINDS), 3);
  const described = { description: marker, metadata: random.text(40) };
  const contents =
    others.length === 0 || kind === 'static_backend' || kind === 'http_response_backend'
      ? simpleBackend(kind, random)
      : { kind, fields: { backends: compositeBackends(kind, others, random) } };
  const own = { ...described, ...contents.fields };
  return create(contents.kind, pathOf(contents.kind), own, own, [], { marker, refusals: REFERENCE_GONE });
}

function simpleBackend(kind: string, random: Random): { kind: string; fields: JsonObject } {
  if (kind === 'http_response_backend') {
    const fields = { body: random.text(20 + random.below(8_000)), headers: { 'x-a': 'b' }, status_code: 200 };
    return { kind, fields };
  }
  return {
    kind: 'static_backend',
    fields: { address: `10.0.0.${random.below(255)}:${1 + random.below(65_535)}`, tls: { enabled: false } },
  };
}

function compositeBackends(kind: string, ids: readonly string[], random: Random): JsonObject | string[] {
  return kind === 'failover_backend'
    ? [...ids]
    : Object.fromEntries(ids.map((id) => [id, 1 + random.below(10_000)] as const));
}

function patchBackend(workload: Workload): PlannedWrite | null {
  const { random, ledger } = workload;
  const id = random.pick(owned(workload, BACKEND_KINDS));
  const kind = id === undefined ? undefined : BACKEND_KINDS.find((each) => ledger.get(each, id) !== null);
  if (id === undefined || kind === undefined) return null;
  const isComposite = kind === 'weighted_backend' || kind === 'failover_backend';
  const others = random.some(
    idsOf(ledger, BACKEND_KINDS).filter((other) => other !== id),
    3,
  );
  const body = {
    metadata: random.text(60),
    ...(isComposite && others.length > 0 && { backends: compositeBackends(kind, others, random) }),
  };
  return {
    method: 'PATCH',
    path: `${pathOf(kind)}/${id}`,
    body,
    marker: null,
    changes: [{ kind, id, state: { ...ledger.get(kind, id), ...body } }],
    refusals: [...REFERENCE_GONE, 'ERR_POSTERN_REFERENCE_CYCLE'],
    root: id,
  };
}
