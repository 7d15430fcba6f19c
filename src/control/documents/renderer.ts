import type { TObject, TSchema } from 'typebox';
import { PosternError } from '../../kit/errors.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../kit/json.ts';
import { MissingPart } from '../../kit/load-part.ts';
import { type Ref, referenceAnnotation } from '../../kit/schema/annotations.ts';
import { isObjectSchema, itemsWithSecrets, openValues, secretVisibility } from '../../kit/schema/schema-facts.ts';
import { isShownOnlyIfSet } from '../../kit/schema/wire-forms.ts';
import { withDefaults } from '../../kit/schema/with-defaults.ts';
import { storeErrors } from '../../store/errors.ts';
import type { RecordReader } from '../../store/replica/record-table.ts';
import type { RecordKey, StoredRecord } from '../../store/store.ts';
import type { View } from '../resources/scopes.ts';
import type { Catalog, CompiledModule, CompiledResource } from './catalog.ts';
import { joinSecrets, masked } from './secret-fields.ts';

/** Reads a stored record. One that the API would not have written (`GET /problems` names it) is a named error. */
function readingRecord<Result>({ kind, id }: RecordKey, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    if (error instanceof PosternError || error instanceof MissingPart) throw error;
    throw unreadable({ kind, id }, error);
  }
}

interface ReadsLive<Ports> {
  read(records: readonly StoredRecord[], ports: Ports): Promise<ReadonlyMap<string, object>>;
}

/** The same for the live fields of several records, of which one may be the cause. */
export async function readingLive<Live extends ReadsLive<Ports>, Ports>(
  live: Live,
  records: readonly StoredRecord[],
  ports: Ports,
): Promise<Awaited<ReturnType<Live['read']>>> {
  const read = async (some: readonly StoredRecord[]): Promise<Awaited<ReturnType<Live['read']>>> =>
    (await live.read(some, ports)) as Awaited<ReturnType<Live['read']>>;
  try {
    return await read(records);
  } catch (error) {
    if (error instanceof PosternError || error instanceof MissingPart) throw error;
    for (const record of records) {
      const isReadable = await read([record]).then(
        () => true,
        () => false,
      );
      if (!isReadable) throw unreadable(record, error);
    }
    throw error;
  }
}

function unreadable({ kind, id }: RecordKey, cause: unknown): Error {
  return storeErrors.create(
    'ERR_POSTERN_STORE_CORRUPT',
    `the stored record ${id} (${kind}) cannot be read: it is not what the API writes. Delete it and create it again, or restore a backup from before`,
    { details: { id }, cause },
  );
}

/** Larger than any sensible number of routes: inline children are never paged. */
const ALL_CHILDREN = { beforeId: null, limit: Number.MAX_SAFE_INTEGER };

export class Renderer {
  readonly #catalog: Catalog;
  readonly #baseUrl: () => string;

  constructor(catalog: Catalog, baseUrl: () => string) {
    this.#catalog = catalog;
    this.#baseUrl = baseUrl;
  }

  uri(path: string): string {
    return `${this.#baseUrl()}${path}`;
  }

  ref(id: string, parentId?: string): Ref {
    const kind = this.#catalog.kindOfId(id);
    const resource = kind === null ? undefined : this.#catalog.resourceOfKind(kind);
    if (resource === undefined) throw new Error(`no resource has ids such as ${id}`);
    const collection = parentId === undefined ? resource.path : resource.path.replace(/\{[^}]+\}/, parentId);
    return { id, uri: this.uri(`${collection}/${id}`) };
  }

  refOf(compiled: CompiledResource, record: StoredRecord): Ref {
    const isNested = compiled.resource.parent !== undefined && 'param' in compiled.resource.parent;
    return this.ref(record.id, isNested ? (record.parent ?? undefined) : undefined);
  }

  /** A resource as GET shows it, with modules and inline children, without live fields. */
  resource(compiled: CompiledResource, record: StoredRecord, reader: RecordReader, view: View): JsonObject {
    return readingRecord(record, () => this.#resource(compiled, record, reader, view));
  }

  #resource(compiled: CompiledResource, record: StoredRecord, reader: RecordReader, view: View): JsonObject {
    const { resource } = compiled;
    const body: Record<string, JsonValue> = { ...this.refOf(compiled, record) } as Record<string, JsonValue>;
    body['created_at'] = record.doc['created_at'] ?? '';
    if (resource.parent !== undefined && 'param' in resource.parent) body[resource.parent.param] = record.parent;
    const config = joinSecrets(record.doc, record.secrets, compiled.secretFields);
    Object.assign(body, this.#config(compiled.config, config, view));
    for (const name of Object.keys(resource.derived ?? {})) body[name] = record.doc[name] ?? null;
    // Null instead of absent: existing clients index it.
    for (const name of Object.keys(resource.shownOnce ?? {})) body[name] = null;
    for (const name of Object.keys(resource.otherNames?.retired ?? {})) body[name] = null;
    for (const module of compiled.modules) {
      const stored = moduleRecord(module, record.id, reader);
      body[module.module.name] = stored === undefined ? null : this.module(module, stored, view);
    }
    for (const child of compiled.inlineChildren) {
      const children = reader.pageOfParent(child.kind, record.id, ALL_CHILDREN);
      body[child.resource.listKey] = children.map((each) => this.resource(child, each, reader, view));
    }
    return resource.render?.(body) ?? body;
  }

  module(module: CompiledModule, record: StoredRecord, view: View): JsonObject {
    return readingRecord(record, () => {
      const config = joinSecrets(record.doc, record.secrets, module.secretFields);
      return { ...this.#config(module.config, config, view), ...module.module.constants?.values };
    });
  }

  /** The fields of one document, without its modules and children. */
  configuration(
    { config, secretFields }: CompiledResource | CompiledModule,
    record: StoredRecord,
    view: View,
  ): JsonObject {
    return this.#config(config, joinSecrets(record.doc, record.secrets, secretFields), view);
  }

  #config(schema: TObject, stored: JsonObject, view: View): JsonObject {
    return this.#fields(schema, withDefaults(schema, stored), view);
  }

  #fields(schema: TObject, config: JsonObject, view: View): JsonObject {
    const body: Record<string, JsonValue> = { ...openValues(schema, config) };
    for (const name of Object.keys(schema.properties)) {
      const field = schema.properties[name] as TSchema;
      if (config[name] === undefined && isShownOnlyIfSet(field)) continue;
      const value = config[name] ?? null;
      const visibility = secretVisibility(field);
      const annotation = referenceAnnotation(field);
      const items = itemsWithSecrets(field);
      if (visibility === 'write_only') continue;
      if (visibility === 'hashed') body[name] = '';
      else if (items !== null && Array.isArray(value))
        body[name] = value.map((item) => this.#fields(items, item as JsonObject, view));
      else if (visibility !== undefined) body[name] = shown(value, visibility, view);
      else if (annotation?.readAs !== undefined) body[annotation.readAs] = this.#refs(value);
      else if (isObjectSchema(field) && isJsonObject(value)) body[name] = this.#fields(field, value, view);
      else body[name] = value;
    }
    return body;
  }

  #refs(value: JsonValue): JsonValue {
    if (Array.isArray(value)) return value.map((id) => ({ ...this.ref(id as string) }));
    return value === null || value === '' ? null : { ...this.ref(value as string) };
  }
}

function shown(value: JsonValue, visibility: 'readable' | 'masked', view: View): JsonValue {
  const how = view[visibility];
  if (how === 'clear') return value;
  return how === 'empty' ? '' : masked(value ?? undefined);
}

/** The number in the ETag: the highest revision among the documents of a rendered resource. */
export function highestRevision(compiled: CompiledResource, record: StoredRecord, reader: RecordReader): number {
  return Math.max(...documentsOf(compiled, record, reader).map((document) => document.record?.revision ?? 0));
}

interface RenderedDocument extends RecordKey {
  readonly record: StoredRecord | undefined;
}

export function moduleRecord(module: CompiledModule, ownerId: string, reader: RecordReader): StoredRecord | undefined {
  const { kind, id } = module.keyOn(ownerId);
  return reader.get(kind, id);
}

/** Every document that the rendered resource shows, including absent modules: adding one changes it too. */
export function documentsOf(
  compiled: CompiledResource,
  record: StoredRecord,
  reader: RecordReader,
): RenderedDocument[] {
  const own: RenderedDocument[] = [{ kind: compiled.kind, id: record.id, record }];
  for (const module of compiled.modules)
    own.push({ ...module.keyOn(record.id), record: moduleRecord(module, record.id, reader) });
  for (const child of compiled.inlineChildren) {
    for (const each of reader.pageOfParent(child.kind, record.id, ALL_CHILDREN))
      own.push(...documentsOf(child, each, reader));
  }
  return own;
}

interface Rendered {
  readonly body: JsonObject;
  readonly text: string;
}

/**
 * Rendered records, cached as long as the record itself: records are immutable, and a new revision is a new object.
 * Only for output that depends on that one record; the key covers everything else that it depends on.
 */
export class RenderedCache {
  readonly #byRecord = new WeakMap<StoredRecord, Map<string, Rendered>>();

  of(record: StoredRecord, view: View, render: (view: View) => JsonObject): Rendered {
    let byView = this.#byRecord.get(record);
    if (byView === undefined) {
      byView = new Map();
      this.#byRecord.set(record, byView);
    }
    const key = `${view.readable} ${view.masked}`;
    const known = byView.get(key);
    if (known !== undefined) return known;
    const body = render(view);
    const rendered = { body, text: JSON.stringify(body) };
    byView.set(key, rendered);
    return rendered;
  }
}
