import Type, { type TObject } from 'typebox';
import { type Backend, type LivePorts, recordKindOf, waysOf, waysProblem } from '../../backends/backend.ts';
import { backendConfig, backendOfRecordKind, backendRecordKinds } from '../../backends/record-kinds.ts';
import { backends } from '../../backends/registry.ts';
import { canonicalJson, type JsonObject } from '../../kit/json.ts';
import { bodyProblem } from '../../kit/schema/decode-body.ts';
import type { FieldProblem } from '../../kit/schema/field-problem.ts';
import type { StoredRecord } from '../../store/store.ts';
import { allPages } from './paging.ts';
import type { SharedPorts } from './ports.ts';
import {
  type ConfigurationResource,
  defineResource,
  describedFields,
  type LiveFields,
  type ReferredReader,
} from './resource.ts';

export type BackendPorts = Pick<SharedPorts, 'online' | 'ref'>;

type Labels = Readonly<Record<string, string>>;

/** Every kind of backend as a noun of the API: a path per kind, and one noun in events. */
export const backendResources: readonly ConfigurationResource<TObject, BackendPorts>[] = backends.map(backendResource);

function backendResource(backend: Backend): ConfigurationResource<TObject, BackendPorts> {
  const { name, idPrefix, title, description, example, live } = backend;
  return defineResource({
    name,
    idPrefix,
    title,
    description,
    example,
    kind: recordKindOf(backend),
    path: `/backends/${name}`,
    listKey: 'backends',
    eventNoun: 'backend',
    config: Type.Object({ ...describedFields, ...backend.config(backendRecordKinds).properties }),
    isAcyclic: backend.memberIds !== undefined,
    sendsTo: (config) => ({
      ids: backend.memberIds?.(config) ?? [],
      places: backend.sendsTo?.(config) ?? (backend.memberIds === undefined ? [wholeOf(backend, config)] : []),
    }),
    check: (config, settings) => [
      ...(backend.check?.(config) ?? []),
      ...(backend.checkOnServer?.(config, settings) ?? []),
    ],
    ...(backend.memberIds !== undefined && { checkReferred: tooManyWays }),
    ...(live !== undefined && { live: liveFields(live) }),
  });
}

/**
 * What the compiler and each request would need grows with every level. A member that gets more later is not found
 * here: the routes of backends that name it refuse, and say so.
 */
function tooManyWays(id: string, read: ReferredReader): readonly FieldProblem[] {
  const membersOf = (each: string): readonly string[] => {
    const found = read(each);
    if (found === null) return [];
    return backendOfRecordKind(found.kind)?.memberIds?.(backendConfig(found.kind, found.doc) as never) ?? [];
  };
  const below = new Set(membersOf(id));
  for (const each of below) for (const member of membersOf(each)) below.add(member);
  // The store refuses a cycle, in its own words.
  const problem = below.has(id) ? null : waysProblem(waysOf(id, membersOf));
  return problem === null ? [] : [bodyProblem('backends', problem)];
}

/** A kind that does not name its places: whatever is changed may be another one. */
function wholeOf(backend: Backend, config: JsonObject): string {
  const own = Object.keys(backend.config(backendRecordKinds).properties).map((name) => [name, config[name] ?? null]);
  return `${backend.name} ${canonicalJson(Object.fromEntries(own))}`;
}

function liveFields(live: NonNullable<Backend['live']>): LiveFields<BackendPorts> {
  return {
    schema: live.schema,
    read: (records, ports) => {
      const found = records.map(({ kind, id, doc }: StoredRecord) => ({ id, config: backendConfig(kind, doc) }));
      return live.read(found, livePorts(ports));
    },
  };
}

function livePorts({ online, ref }: BackendPorts): LivePorts {
  return {
    ref,
    onlineTunnels: async () => {
      const tunnels = await allPages((query) => online.list('tunnel', query));
      return tunnels.map(({ id, doc }) => ({ id, labels: (doc['labels'] as Labels | undefined) ?? null }));
    },
  };
}
