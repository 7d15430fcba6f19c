import type { Module } from '../modules/contract/module.ts';
import type { EventType } from '../resources/operation.ts';
import type { ResourcePorts } from '../resources/registry.ts';
import type { Resource } from '../resources/resource.ts';
import { type CompiledResource, compileResource } from './compiled.ts';
import { eventTypesOf } from './event-types.ts';
import { kindOfIdIn } from './kind-of-id.ts';
import type { KindOfId } from './reference-fields.ts';
import { scopesOf } from './scopes.ts';

/** The compiled registries, by kind and by id prefix. */
export interface Catalog {
  readonly resources: readonly Resource<ResourcePorts>[];
  readonly modules: readonly Module[];
  readonly compiled: ReadonlyMap<string, CompiledResource>;
  readonly eventTypes: readonly EventType[];
  readonly scopes: readonly string[];
  /** See `derivedKinds` of a resource: which one has them. */
  readonly derivedKinds: ReadonlyMap<string, CompiledResource>;
  readonly kindsByPrefix: ReadonlyMap<string, string>;
  readonly kindOfId: KindOfId;
  resourceOfKind(kind: string): Resource | undefined;
  childrenOf(kind: string): readonly CompiledResource[];
}

export function createCatalog(resources: Catalog['resources'], modules: readonly Module[]): Catalog {
  const compiled = new Map<string, CompiledResource>();
  for (const resource of resources) {
    if (resource.type === 'configuration') compiled.set(resource.kind, compileResource(resource, modules));
  }
  for (const parent of compiled.values()) linkInlineChildren(parent, compiled);
  const kindsByPrefix = new Map(resources.map((resource) => [resource.idPrefix, resource.kind]));
  const byKind = new Map(resources.map((resource) => [resource.kind, resource]));
  return {
    resources,
    modules,
    compiled,
    eventTypes: eventTypesOf(resources, modules),
    scopes: scopesOf(resources),
    derivedKinds: new Map(
      [...compiled.values()].flatMap((owner) =>
        (owner.resource.derivedKinds ?? []).map((kind): [string, CompiledResource] => [kind, owner]),
      ),
    ),
    kindsByPrefix,
    kindOfId: kindOfIdIn(kindsByPrefix),
    resourceOfKind: (kind) => byKind.get(kind),
    childrenOf: (kind) => [...compiled.values()].filter((child) => child.resource.parent?.kind === kind),
  };
}

function linkInlineChildren(parent: CompiledResource, compiled: ReadonlyMap<string, CompiledResource>): void {
  for (const kind of parent.resource.inlineChildren ?? []) {
    const child = compiled.get(kind);
    if (child === undefined) throw new Error(`${parent.kind} inlines ${kind}, which is not registered`);
    (parent.inlineChildren as CompiledResource[]).push(child);
    child.isInlinedInParent = true;
  }
}
