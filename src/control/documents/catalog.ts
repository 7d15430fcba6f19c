import type { TObject } from 'typebox';
import Type from 'typebox';
import { type BodyDecoder, createDecoder, patchDecoder } from '../../kit/schema/decode-body.ts';
import type { Module } from '../../modules/contract/module.ts';
import { moduleRecordKey, worksWhere } from '../../modules/module-config.ts';
import type { RecordKey } from '../../store/store.ts';
import type { EventType } from '../resources/operation.ts';
import type { ResourcePorts } from '../resources/registry.ts';
import type { ConfigurationResource, Resource } from '../resources/resource.ts';
import { scopeOf, scopesOf } from '../resources/scopes.ts';
import { connectionObjectSchema, nodeField, requestObjectSchema } from '../resources/traffic-objects.ts';
import { kindOfIdIn } from './kind-of-id.ts';
import { type KindOfId, type ReferenceField, referenceFieldsOf } from './reference-fields.ts';
import { type SecretField, secretFieldsOf } from './secret-fields.ts';

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

/** Computed once per definition, so that a request only walks prepared lists. */
interface CompiledConfig {
  readonly config: TObject;
  readonly create: BodyDecoder;
  readonly secretFields: readonly SecretField[];
  readonly referenceFields: readonly ReferenceField[];
}

export interface CompiledModule extends CompiledConfig {
  readonly module: Module;
  readonly kind: string;
  /** Key of its record on an edge or route. */
  keyOn(ownerId: string): RecordKey;
}

export interface CompiledResource extends CompiledConfig {
  readonly resource: ConfigurationResource<TObject, ResourcePorts>;
  readonly kind: string;
  readonly patch: BodyDecoder;
  readonly modules: readonly CompiledModule[];
  readonly inlineChildren: readonly CompiledResource[];
  /** The parent renders this resource inline: the parent is touched when one is created or deleted. */
  isInlinedInParent: boolean;
}

function compileResource(resource: CompiledResource['resource'], modules: readonly Module[]): CompiledResource {
  const inline = modules.filter((module) => worksWhere(module, resource.passes ?? []));
  const inlineNames = inline.map((module) => module.name);
  return {
    ...compileConfig(resource.config, inlineNames),
    resource,
    kind: resource.kind,
    patch: patchDecoder(resource.config, resource.immutable ?? [], inlineNames),
    modules: inline.map((module) => compileModule(module, resource.kind)),
    inlineChildren: [],
    isInlinedInParent: false,
  };
}

function compileModule(module: Module, ownerKind: string): CompiledModule {
  const keyOn = (ownerId: string): RecordKey => moduleRecordKey(ownerKind, ownerId, module.name);
  return { ...compileConfig(module.config, []), module, kind: keyOn('').kind, keyOn };
}

/** The id shown to people: a module's record is named by its edge or route. */
export function ownerIdOf(recordId: string): string {
  return recordId.split('.')[0] ?? recordId;
}

function compileConfig(config: TObject, inlineNames: readonly string[]): CompiledConfig {
  return {
    config,
    create: createDecoder(config, inlineNames),
    secretFields: secretFieldsOf(config),
    referenceFields: referenceFieldsOf(config),
  };
}

/** Types that no configuration resource produces. */
const OTHER_TYPES: readonly EventType[] = [
  {
    type: 'agent_session_start.v0',
    description: 'An agent connected.',
    scope: 'tunnel_sessions:read',
    object: { resources: ['tunnel_sessions'] },
  },
  {
    type: 'agent_session_stop.v0',
    description: 'An agent disconnected.',
    scope: 'tunnel_sessions:read',
    object: { resources: ['tunnel_sessions'], isPartial: true },
  },
  {
    type: 'alert_raised.v0',
    description: 'Something has been wrong for a while.',
    scope: 'alerts:read',
    object: { resources: ['alerts'] },
  },
  {
    type: 'alert_resolved.v0',
    description: 'The cause of an alert is gone.',
    scope: 'alerts:read',
    object: { resources: ['alerts'] },
  },
  {
    type: 'certificate_issued.v0',
    description: 'An ACME server issued a certificate.',
    scope: 'managed_certificates:read',
    object: { resources: ['managed_certificates'] },
  },
  {
    type: 'certificate_failed.v0',
    description: 'A certificate could not be obtained from an ACME server.',
    scope: 'managed_certificates:read',
    object: { resources: ['managed_certificates'] },
  },
  {
    type: 'certificate_expiring.v0',
    description: 'A certificate from an ACME server expires soon and was not renewed.',
    scope: 'managed_certificates:read',
    object: { resources: ['managed_certificates'] },
  },
  {
    type: 'passkey_created.v0',
    description: 'A person registered a passkey.',
    scope: 'user_accounts:read',
    object: { resources: ['passkeys'] },
  },
  {
    type: 'passkey_deleted.v0',
    description: 'A passkey of a person was deleted.',
    scope: 'user_accounts:read',
    object: { resources: ['passkeys'] },
  },
  {
    type: 'tunnel_start.v0',
    description: 'A tunnel went online.',
    scope: 'tunnels:read',
    object: { resources: ['tunnels'] },
  },
  {
    type: 'tunnel_stop.v0',
    description: 'A tunnel went offline.',
    scope: 'tunnels:read',
    object: { resources: ['tunnels'], isPartial: true },
  },
  {
    type: 'http_request_complete.v0',
    description: 'The edge responded to an HTTP request.',
    scope: 'edges:read',
    object: { schema: requestObjectSchema },
  },
  {
    type: 'tcp_connection_closed.v0',
    description: 'A TCP connection through the edge ended.',
    scope: 'endpoints:read',
    object: { schema: connectionObjectSchema },
  },
];

/** Every event type: three per configuration noun, and those of modules, agents and traffic. */
function eventTypesOf(resources: readonly Resource[], modules: readonly Module[]): readonly EventType[] {
  const configured = resources.filter((resource) => resource.type === 'configuration');
  const configuration = [...Map.groupBy(configured, ({ eventNoun }) => eventNoun)].flatMap(([noun, group]) => {
    const [first] = group;
    if (first === undefined) return [];
    const title = noun === 'backend' ? 'A backend' : sentenceStart(first.title);
    const shared = { scope: scopeOf('GET', first.path), object: { resources: group.map(({ name }) => name) } };
    return [
      { type: `${noun}_created.v0`, description: `${title} was created.`, ...shared },
      { type: `${noun}_updated.v0`, description: `${title} was changed.`, ...shared },
      { type: `${noun}_deleted.v0`, description: `${title} was deleted.`, ...shared },
      ...Object.entries(first.otherEvents ?? {}).map(([verb, description]) => ({
        type: `${noun}_${verb}.v0`,
        description,
        ...shared,
      })),
    ];
  });
  return [...configuration, ...modules.flatMap(ofModule), ...OTHER_TYPES].sort((a, b) => (a.type < b.type ? -1 : 1));
}

function ofModule({ events = [] }: Module): readonly EventType[] {
  return events.map(({ type, description, object }) => ({
    type,
    description,
    scope: 'edges:read',
    object: { schema: Type.Object({ ...object.properties, node: nodeField }) },
  }));
}

function sentenceStart(title: string): string {
  return title.charAt(0).toUpperCase() + title.slice(1);
}

/** What a record of some kind is: a resource, or a module of one. */
export interface DocumentForm {
  readonly owner: CompiledResource;
  /** Null: the record is the resource itself. */
  readonly module: CompiledModule | null;
  readonly compiled: CompiledResource | CompiledModule;
  readonly path: string;
}

/** Null: no resource or module of this version has such records. */
export function documentForm(catalog: Catalog, kind: string): DocumentForm | null {
  const [ownerKind = '', name] = kind.split('.');
  const owner = catalog.compiled.get(ownerKind);
  if (owner === undefined) return null;
  const { path } = owner.resource;
  if (name === undefined) return { owner, module: null, compiled: owner, path };
  const module = owner.modules.find((each) => each.module.name === name);
  return module === undefined ? null : { owner, module, compiled: module, path };
}
