import type { TObject } from 'typebox';
import { type BodyDecoder, createDecoder, patchDecoder } from '../lib/schema/decode-body.ts';
import type { Module } from '../modules/module.ts';
import type { ConfigurationResource } from '../resources/resource.ts';
import { type ReferenceField, referenceFieldsOf } from './reference-fields.ts';
import { type SecretField, secretFieldsOf } from './secret-fields.ts';

/** What is worked out once per definition, so that a request only walks prepared lists. */
interface CompiledConfig {
  readonly config: TObject;
  readonly create: BodyDecoder;
  readonly secretFields: readonly SecretField[];
  readonly referenceFields: readonly ReferenceField[];
}

export interface CompiledModule extends CompiledConfig {
  readonly module: Module;
  /** Kind of its records, which bear the id of the edge or route that they belong to. */
  readonly kind: string;
}

export interface CompiledResource extends CompiledConfig {
  readonly resource: ConfigurationResource;
  readonly kind: string;
  readonly patch: BodyDecoder;
  readonly modules: readonly CompiledModule[];
  readonly inlineChildren: readonly CompiledResource[];
  /** Whoever renders this one inside itself: it is touched when one of these goes away or comes. */
  isInlinedInParent: boolean;
}

export function compileResource(resource: ConfigurationResource, modules: readonly Module[]): CompiledResource {
  return {
    ...compileConfig(resource.config),
    resource,
    kind: resource.kind,
    patch: patchDecoder(resource.config, resource.immutable ?? []),
    modules: modules
      .filter((module) => module.level === resource.modules)
      .map((module) => ({ ...compileConfig(module.config), module, kind: `${resource.kind}.${module.name}` })),
    inlineChildren: [],
    isInlinedInParent: false,
  };
}

function compileConfig(config: TObject): CompiledConfig {
  return {
    config,
    create: createDecoder(config),
    secretFields: secretFieldsOf(config),
    referenceFields: referenceFieldsOf(config),
  };
}
