import type { TObject } from 'typebox';
import { type BodyDecoder, createDecoder, patchDecoder } from '../lib/schema/decode-body.ts';
import type { Module } from '../modules/contract/module.ts';
import { moduleRecordKey } from '../modules/module-record-key.ts';
import type { ResourcePorts } from '../resources/registry.ts';
import type { ConfigurationResource } from '../resources/resource.ts';
import type { RecordKey } from '../store/store.ts';
import { type ReferenceField, referenceFieldsOf } from './reference-fields.ts';
import { type SecretField, secretFieldsOf } from './secret-fields.ts';

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

export function compileResource(resource: CompiledResource['resource'], modules: readonly Module[]): CompiledResource {
  const inline = modules.filter((module) => module.level === resource.modules);
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
