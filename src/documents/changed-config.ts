import type { JsonObject } from '../lib/json.ts';
import type { RecordChange } from '../resources/documents-ports.ts';
import type { Principal } from '../resources/operation.ts';
import type { ResourceSettings } from '../resources/resource.ts';
import type { CompiledResource } from './compiled.ts';
import { checkConfig } from './decode-write.ts';
import { invalidBody } from './errors.ts';
import { canReadSecrets } from './scopes.ts';
import { keepUnseenSecrets } from './secret-fields.ts';

/**
 * The configuration after a change: includes the secrets that the caller could not see, and passes the rules for whole
 * configurations and for changes.
 */
export function changedConfig(
  compiled: CompiledResource,
  { config: next, clearedSecrets }: RecordChange,
  previous: JsonObject,
  { principal, settings }: { readonly principal: Principal; readonly settings: ResourceSettings },
): JsonObject {
  const kept = keepUnseenSecrets(next ?? previous, previous, compiled.secretFields, {
    canReadSecrets: canReadSecrets(principal),
    clearedSecrets,
  });
  const config = checkConfig(compiled, kept, settings);
  const refused = compiled.resource.checkChange?.(config as never, previous as never) ?? [];
  if (refused.length > 0) throw invalidBody(refused);
  return config;
}

/** What the resource computes after a change: read-only fields, and configuration that it reads elsewhere. */
export function changedByResource(
  { resource }: CompiledResource,
  config: JsonObject,
  previous: JsonObject,
  { settings, nowMs }: { readonly settings: ResourceSettings; readonly nowMs: number },
): { readonly config: JsonObject; readonly derived: JsonObject } {
  const change = resource.onChange?.(config as never, previous as never, settings, nowMs) ?? {};
  if ('problems' in change) throw invalidBody(change.problems);
  return { config: { ...config, ...change.config }, derived: change.derived ?? {} };
}
