import type { TObject } from 'typebox';
import { type ConfigurationResource, defineResource } from '../resources/resource.ts';

/**
 * The parts that all kinds of backends share: a path per kind, and one noun in events. Adding a kind takes a folder and
 * a line in `registry.ts`.
 */
export function defineBackend<Config extends TObject>(
  backend: Omit<ConfigurationResource<Config>, 'type' | 'kind' | 'path' | 'listKey' | 'eventNoun'>,
): ConfigurationResource {
  return defineResource({
    ...backend,
    kind: `${backend.name}_backend`,
    path: `/backends/${backend.name}`,
    listKey: 'backends',
    eventNoun: 'backend',
  });
}

/** Kinds that a weighted or failover backend may refer to: any, including themselves. */
export const backendKinds: readonly string[] = [
  'tunnel_group_backend',
  'weighted_backend',
  'failover_backend',
  'http_response_backend',
  'static_backend',
];
