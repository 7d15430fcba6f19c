import { canonicalJson, type JsonObject } from '../../kit/json.ts';
import { withDefaults } from '../../kit/schema/with-defaults.ts';
import type { RecordDelete, RecordKey, RecordPut, StoredRecord, WriteSet } from '../../store/store.ts';
import { type ClaimedKey, describedFields } from '../resources/resource.ts';
import type { Catalog, CompiledModule, CompiledResource } from './catalog.ts';
import type { DocumentsContext } from './documents-context.ts';
import { type PlacedReference, referencesIn } from './reference-fields.ts';
import { joinSecrets, splitSecrets } from './secret-fields.ts';

interface ResourceParts {
  readonly id: string;
  readonly parent: string | null;
  readonly config: JsonObject;
  /** Stored beside the configuration: created_at, derived and internal fields. */
  readonly extra: JsonObject;
  /** The configuration that it replaces; null for a new resource. */
  readonly previous: JsonObject | null;
  /** Revision of the state in which the change was allowed, or an earlier one. */
  readonly asOf: number;
}

/** A record to write, with the positions of its claims and references in the body, for error messages. */
export interface PlacedPut extends RecordPut {
  readonly uniqueKeys: readonly ClaimedKey[];
  readonly references: readonly PlacedReference[];
  /** Pointers to secrets that a caller who cannot read them has sent: they count as new, even if they are as stored. */
  readonly sentSecrets?: readonly string[];
}

/** Records beside a resource: no field of the body names their claims and references. */
export function placed(puts: readonly RecordPut[] = []): readonly PlacedPut[] {
  return puts.map((put) => ({ ...put, references: put.references.map((each) => ({ ...each, path: '' })) }));
}

export interface PlacedWriteSet extends WriteSet {
  readonly puts?: readonly PlacedPut[];
  /** With secrets that turned out to be as stored: judged like puts, and not written. */
  readonly unwritten?: readonly PlacedPut[];
}

export function resourcePut(compiled: CompiledResource, parts: ResourceParts, catalog: Catalog): PlacedPut {
  const { resource } = compiled;
  const config = parts.config as never;
  const previous = parts.previous as never;
  const { doc, secrets } = splitSecrets(parts.config, compiled.secretFields);
  return {
    kind: compiled.kind,
    id: parts.id,
    parent: parts.parent,
    doc: { ...doc, ...parts.extra },
    secrets,
    uniqueKeys: resource.uniqueKeys?.(config, parts, parts.extra) ?? [],
    references: referencesIn(parts.config, compiled.referenceFields, catalog.kindOfId, ''),
    ...(resource.isAcyclic === true && { isAcyclic: true }),
    ...(resource.isArming?.(config, previous) === true && { armedAsOf: parts.asOf }),
    ...(parts.previous !== null && isNarrowing(compiled, parts.config, parts.previous) && { isRevocation: true }),
  };
}

/** Whether the change takes rights away, and does nothing else that counts: a pending change holds off the rest. */
function isNarrowing({ resource }: CompiledResource, config: JsonObject, previous: JsonObject): boolean {
  const { narrowable = [] } = resource;
  const others = Object.entries(config).filter(([name]) => !narrowable.includes(name) && !(name in describedFields));
  return (
    isUnchanged(Object.fromEntries(others), previous) &&
    resource.isRevocation?.(config as never, previous as never) === true
  );
}

export function deletionOf(
  { kind, resource }: CompiledResource,
  { id, previous }: { readonly id: string; readonly previous: JsonObject },
): RecordDelete {
  return { kind, id, ...(resource.isRevocation?.(null, previous as never) === true && { isRevocation: true }) };
}

export interface ModuleParts {
  readonly ownerId: string;
  readonly config: JsonObject;
  /** JSON pointer to the module in the body: `""` when it is the whole body. */
  readonly at: string;
}

export function modulePut(module: CompiledModule, { ownerId, config, at }: ModuleParts, catalog: Catalog): PlacedPut {
  const { doc, secrets } = splitSecrets(config, module.secretFields);
  const references = referencesIn(config, module.referenceFields, catalog.kindOfId, at);
  return { ...module.keyOn(ownerId), parent: ownerId, doc, secrets, uniqueKeys: [], references };
}

/** Every field of a stored resource, with its secrets, and without what is stored beside the configuration. */
export function storedFields(compiled: CompiledResource, record: StoredRecord): JsonObject {
  const all = withDefaults(compiled.config, joinSecrets(record.doc, record.secrets, compiled.secretFields));
  return Object.fromEntries(Object.keys(compiled.config.properties).map((name) => [name, all[name] ?? null]));
}

/** Every field of a stored module, with its secrets. */
export function storedConfig(module: CompiledModule, { doc, secrets }: StoredRecord): JsonObject {
  return withDefaults(module.config, joinSecrets(doc, secrets, module.secretFields));
}

export function extraOf(compiled: CompiledResource, doc: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(doc).filter(([name]) => !(name in compiled.config.properties)));
}

/** Whether every field of `next` already has its value. The order of map entries does not matter. */
export function isUnchanged(next: JsonObject, previous: JsonObject): boolean {
  return Object.entries(next).every(
    ([name, value]) => value === previous[name] || canonicalJson(value) === canonicalJson(previous[name] ?? null),
  );
}

/** A parent that renders its children changes when a child is created or deleted. */
export function touchedParent(compiled: CompiledResource, parent: string | null): readonly RecordKey[] {
  const link = compiled.resource.parent;
  return compiled.isInlinedInParent && link !== undefined && parent !== null ? [{ kind: link.kind, id: parent }] : [];
}

export function parentFieldOf(compiled: CompiledResource): string | null {
  const link = compiled.resource.parent;
  return link !== undefined && 'field' in link ? link.field : null;
}

export function parentFromField(compiled: CompiledResource, config: JsonObject): string | null {
  const field = parentFieldOf(compiled);
  return field === null ? null : (config[field] as string);
}

interface Change {
  readonly id: string;
  /** Null on delete. */
  readonly config: JsonObject | null;
  /** Null on create: nothing can end. */
  readonly previous: JsonObject | null;
}

/** Everything else that ends with a change of a resource: by a request, a changeset or an undo. */
export function endedBy(
  { resource }: CompiledResource,
  { id, config, previous }: Change,
  { replica: reader, settings }: Pick<DocumentsContext, 'replica' | 'settings'>,
): ReturnType<NonNullable<CompiledResource['resource']['ends']>> {
  if (previous === null) return {};
  return resource.ends?.(config as never, previous as never, { id, reader, settings }) ?? {};
}
