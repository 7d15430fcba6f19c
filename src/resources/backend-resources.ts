import Type, { type TObject } from 'typebox';
import { type Backend, type LivePorts, recordKindOf } from '../backends/backend.ts';
import { backendRecordKinds } from '../backends/record-kinds.ts';
import { backends } from '../backends/registry.ts';
import type { StoredRecord } from '../store/store.ts';
import { allPages } from './all-pages.ts';
import { type ConfigurationResource, defineResource, describedFields, type LiveFields } from './resource.ts';
import type { SharedPorts } from './shared-ports.ts';

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
    check: (config) => backend.check?.(config) ?? [],
    ...(live !== undefined && { live: liveFields(live) }),
  });
}

function liveFields(live: NonNullable<Backend['live']>): LiveFields<BackendPorts> {
  return {
    schema: live.schema,
    read: (records, ports) => {
      const found = records.map(({ id, doc }: StoredRecord) => ({ id, config: doc }));
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
