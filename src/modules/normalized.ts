import type { JsonObject } from '../lib/json.ts';
import type { Module } from './contract/module.ts';

/** The form of a checked configuration that is stored and shown. */
export function normalized(module: Module, config: JsonObject): JsonObject {
  return (module.normalize?.(config as never) ?? config) as JsonObject;
}
