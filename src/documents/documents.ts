import { rfc3339 } from '../lib/clock.ts';
import type { JsonObject } from '../lib/json.ts';
import type { RecordReader } from '../replica/record-reader.ts';
import { resourceErrors } from '../resources/errors.ts';
import type {
  DocumentsPort,
  OperationRequest,
  OperationResult,
  Principal,
  RecordChange,
} from '../resources/operation.ts';
import type { RecordPut, StoredRecord, WriteSet } from '../store/store.ts';
import { changeEvent, isChangeWanted } from './change-events.ts';
import { commitWithRetries } from './commit-with-retries.ts';
import type { CompiledModule, CompiledResource } from './compiled.ts';
import { checkConfig, type DecodedWrite, decodeModule, decodeWrite } from './decode-write.ts';
import type { DocumentsContext } from './documents-context.ts';
import { documentErrors, invalidBody } from './errors.ts';
import { IdempotentCreates } from './idempotent-creates.ts';
import { expectMatch, expectModuleMatch } from './preconditions.ts';
import { referencesIn } from './reference-fields.ts';
import { notFound } from './refusal-error.ts';
import { highestRevision, type View } from './renderer.ts';
import { canReadSecrets } from './scopes.ts';
import { joinSecrets, keepUnseenSecrets, splitSecrets } from './secret-fields.ts';

/** The configuration resources and their modules: decoded, checked, written in one transaction each, and rendered. */
export class Documents implements DocumentsPort {
  readonly #context: DocumentsContext;
  readonly #creates: IdempotentCreates;

  constructor(context: DocumentsContext) {
    this.#context = context;
    this.#creates = new IdempotentCreates(context.store);
  }

  get reader(): RecordReader {
    return this.#context.replica;
  }

  require(kind: string, id: string): StoredRecord {
    const record = this.#context.replica.get(kind, id);
    if (record === undefined) throw notFound(this.#context.catalog, kind, id);
    return record;
  }

  render(record: StoredRecord, principal: Principal): JsonObject {
    return this.#context.renderer.resource(this.#compiled(record.kind), record, this.reader, viewOf(principal));
  }

  create(compiled: CompiledResource, request: OperationRequest, parentId: string | null): Promise<OperationResult> {
    return this.#creates.run(
      request.idempotency,
      () => this.#createNow(compiled, request, parentId),
      async (id) => {
        const record = this.reader.get(compiled.kind, id);
        if (record === undefined || isShownOnce(compiled)) return null;
        return {
          ...(await this.#answer(compiled, record, request.principal)),
          headers: { 'idempotent-replayed': 'true' },
        };
      },
    );
  }

  async #createNow(
    compiled: CompiledResource,
    request: OperationRequest,
    parentId: string | null,
  ): Promise<OperationResult> {
    const { settings, catalog, clock } = this.#context;
    const { resource } = compiled;
    const decoded = decodeWrite(compiled, request.body, 'create', settings);
    let config = checkConfig(compiled, decoded.config, settings);
    this.#authorize(compiled, request.principal, config, null);
    if (parentId !== null && resource.parent !== undefined) this.require(resource.parent.kind, parentId);
    const nowMs = clock.nowMs();
    const creation = resource.onCreate?.(config as never, { settings, nowMs, newToken: this.#context.newToken }) ?? {};
    if ('problems' in creation) throw invalidBody(creation.problems);
    config = { ...config, ...creation.config };

    const id = this.#context.newId(resource.idPrefix);
    const parent = parentId ?? parentFromField(compiled, config);
    const extra = {
      created_at: rfc3339(nowMs),
      ...creation.derived,
      ...(creation.internal && { internal: creation.internal }),
    };
    const own = this.#put(compiled, { id, parent, config, extra });
    const moduleWrites = [...decoded.modules].map(([module, value]) => this.#modulePut(module, id, value));
    const touches =
      compiled.isInlinedInParent && resource.parent && parent ? [{ kind: resource.parent.kind, id: parent }] : [];
    const puts = [own, ...moduleWrites];
    const record: StoredRecord = { ...own, revision: 0 };
    const events = changeEvent(
      compiled,
      'created',
      { record, reader: this.reader, writeSet: { puts }, principal: request.principal },
      this.#context.events,
    );
    const idempotency = request.idempotency && { ...request.idempotency, kind: compiled.kind, id, createdAtMs: nowMs };
    const writeSet: WriteSet = { puts, touches, events, ...(idempotency && { idempotency }) };

    const { revision } = await commitWithRetries(this.#context, {
      expectations: 'none',
      attempt: () => writeSet,
      missingParentField: parentFieldOf(compiled),
    });
    const created = this.reader.get(compiled.kind, id);
    // Only a delete that overtook us on another connection explains its absence.
    if (created === undefined) throw notFound(catalog, compiled.kind, id);
    const answer = await this.#answer(compiled, created, request.principal, { masked: 'clear' });
    return { ...answer, body: { ...answer.body, ...creation.shownOnce }, status: 201, revision };
  }

  get(compiled: CompiledResource, id: string, principal: Principal, parentId: string | null): Promise<OperationResult> {
    return this.#answer(compiled, this.#requireUnder(compiled, id, parentId), principal);
  }

  async list(
    compiled: CompiledResource,
    principal: Principal,
    page: { readonly beforeId: string | null; readonly limit: number },
    parentId: string | null,
  ): Promise<{ readonly items: readonly JsonObject[]; readonly hasMore: boolean }> {
    const query = { beforeId: page.beforeId, limit: page.limit + 1 };
    const found =
      parentId === null
        ? this.reader.page(compiled.kind, query)
        : this.reader.pageOfParent(compiled.kind, parentId, query);
    const records = found.slice(0, page.limit);
    const live = await compiled.resource.live?.read(records, this.#context.ports());
    const view = viewOf(principal);
    const items = records.map((record) => ({
      ...this.#context.renderer.resource(compiled, record, this.reader, view),
      ...live?.get(record.id),
    }));
    return { items, hasMore: found.length > page.limit };
  }

  async patch(
    compiled: CompiledResource,
    id: string,
    request: OperationRequest,
    parentId: string | null,
  ): Promise<OperationResult> {
    const decoded = decodeWrite(compiled, request.body, 'patch', this.#context.settings);
    const written = await this.#update(
      compiled,
      id,
      request,
      decoded,
      (config) => ({ config: { ...config, ...decoded.config } }),
      parentId,
    );
    return { ...(await this.#answer(compiled, written.record, request.principal)), revision: written.revision };
  }

  update(
    kind: string,
    id: string,
    request: OperationRequest,
    change: (config: JsonObject) => RecordChange,
  ): Promise<{ readonly record: StoredRecord; readonly revision: number }> {
    return this.#update(this.#compiled(kind), id, request, { config: {}, modules: new Map() }, change, null);
  }

  async #update(
    compiled: CompiledResource,
    id: string,
    request: OperationRequest,
    decoded: DecodedWrite,
    changeOf: (config: JsonObject) => RecordChange,
    parentId: string | null,
  ): Promise<{ readonly record: StoredRecord; readonly revision: number }> {
    const { settings } = this.#context;
    const attempt = (): WriteSet => {
      const record = this.#requireUnder(compiled, id, parentId);
      const previous = this.#configOf(compiled, record);
      const change = changeOf(previous);
      const seesSecrets = canReadSecrets(request.principal);
      const kept = keepUnseenSecrets(change.config ?? previous, previous, compiled.secretFields, seesSecrets);
      const config = checkConfig(compiled, kept, settings);
      const refused = compiled.resource.checkChange?.(config as never, previous as never) ?? [];
      if (refused.length > 0) throw invalidBody(refused);
      this.#authorize(compiled, request.principal, config, previous);
      const expect = [
        ...expectMatch(request.ifMatch, compiled, record, this.reader),
        { kind: compiled.kind, id, revision: record.revision },
      ];
      const puts: RecordPut[] = [];
      const extra = { ...omitConfig(compiled, record.doc), ...change.derived };
      if (!isSame(config, previous) || !isSame(extra, record.doc)) {
        puts.push(this.#put(compiled, { id, parent: record.parent, config, extra }));
      }
      for (const [module, value] of decoded.modules) {
        const put = this.#changedModulePut(module, id, value, request.principal);
        if (put !== null) puts.push(put);
      }
      if (puts.length === 0) return { expect };
      const keepAtLeastOne = compiled.resource.keepAtLeastOne ?? [];
      const updated: StoredRecord = {
        ...(puts.find((put) => put.kind === compiled.kind) ?? record),
        revision: record.revision,
      };
      const events = changeEvent(
        compiled,
        'updated',
        { record: updated, reader: this.reader, writeSet: { puts }, principal: request.principal },
        this.#context.events,
      );
      return { expect, puts, keepAtLeastOne, events };
    };
    const { revision } = await this.#context.mutex.run(id, () =>
      commitWithRetries(this.#context, { expectations: 'retry', attempt }),
    );
    return { record: this.#requireUnder(compiled, id, parentId), revision };
  }

  async delete(
    compiled: CompiledResource,
    id: string,
    request: OperationRequest,
    parentId: string | null,
  ): Promise<OperationResult> {
    const { resource } = compiled;
    let deleted: StoredRecord | undefined;
    const attempt = (): WriteSet => {
      const record = this.#requireUnder(compiled, id, parentId);
      deleted = record;
      this.#authorize(compiled, request.principal, null, this.#configOf(compiled, record));
      const touches =
        compiled.isInlinedInParent && resource.parent && record.parent
          ? [{ kind: resource.parent.kind, id: record.parent }]
          : [];
      const deletes = [{ kind: compiled.kind, id }];
      const events = this.#deletionEvents(compiled, record, request.principal);
      return {
        expect: expectMatch(request.ifMatch, compiled, record, this.reader),
        deletes,
        touches,
        events,
        keepAtLeastOne: resource.keepAtLeastOne ?? [],
      };
    };
    const { revision } = await commitWithRetries(this.#context, { expectations: 'retry', attempt });
    if (deleted !== undefined) await resource.afterDelete?.(deleted, this.#context.ports());
    return { body: null, revision };
  }

  putModule(
    compiled: CompiledResource,
    module: CompiledModule,
    id: string,
    request: OperationRequest,
    parentId: string | null,
  ): Promise<OperationResult> {
    const config = decodeModule(module, request.body, this.#context.settings);
    const attempt = (): WriteSet => {
      const owner = this.#requireUnder(compiled, id, parentId);
      const current = this.reader.get(module.kind, id);
      const expect = expectModuleMatch(request.ifMatch, module, current);
      const put = this.#changedModulePut(module, id, config, request.principal);
      if (put === null && current !== undefined)
        return { expect: [{ kind: module.kind, id, revision: current.revision }] };
      const puts = put === null ? [] : [put];
      const events = changeEvent(
        compiled,
        'updated',
        { record: owner, reader: this.reader, writeSet: { puts }, principal: request.principal },
        this.#context.events,
      );
      // A secret that the caller could not see was taken over from what is stored: it must still be that.
      const hasTakenOver =
        module.secretFields.length > 0 && !canReadSecrets(request.principal) && current !== undefined;
      const sameAsSeen = hasTakenOver ? [{ kind: module.kind, id, revision: current.revision }] : [];
      return { expect: [...expect, ...sameAsSeen], puts, events };
    };
    return this.#serializedIfObserved(compiled, id, async () => {
      const { revision } = await commitWithRetries(this.#context, { expectations: 'retry', attempt });
      return { ...this.getModule(compiled, module, id, request.principal, parentId), revision };
    });
  }

  getModule(
    compiled: CompiledResource,
    module: CompiledModule,
    id: string,
    principal: Principal,
    parentId: string | null,
  ): OperationResult {
    this.#requireUnder(compiled, id, parentId);
    const record = this.reader.get(module.kind, id);
    if (record === undefined) {
      throw resourceErrors.create(
        'ERR_POSTERN_NOT_FOUND',
        `the ${module.module.name} module is not set on ${id}: set it with PUT …/${module.module.name}`,
        { details: { id, module: module.module.name } },
      );
    }
    return { body: this.#context.renderer.module(module, record, viewOf(principal)), etag: record.revision };
  }

  deleteModule(
    compiled: CompiledResource,
    module: CompiledModule,
    id: string,
    request: OperationRequest,
    parentId: string | null,
  ): Promise<OperationResult> {
    const attempt = (): WriteSet => {
      const owner = this.#requireUnder(compiled, id, parentId);
      const current = this.reader.get(module.kind, id);
      const expect = expectModuleMatch(request.ifMatch, module, current);
      if (current === undefined) return { expect: [{ kind: module.kind, id, revision: 'absent' }] };
      const deletes = [{ kind: module.kind, id }];
      const events = changeEvent(
        compiled,
        'updated',
        { record: owner, reader: this.reader, writeSet: { deletes }, principal: request.principal },
        this.#context.events,
      );
      return { expect, deletes, touches: [{ kind: compiled.kind, id }], events };
    };
    return this.#serializedIfObserved(compiled, id, async () => {
      const { revision } = await commitWithRetries(this.#context, { expectations: 'retry', attempt });
      return { body: null, revision };
    });
  }

  #compiled(kind: string): CompiledResource {
    const compiled = this.#context.catalog.compiled.get(kind);
    if (compiled === undefined) throw new Error(`no configuration resource has the kind ${kind}`);
    return compiled;
  }

  /** The record, if it stands under the parent that the path names: a route of another edge is not found. */
  #requireUnder(compiled: CompiledResource, id: string, parentId: string | null): StoredRecord {
    const record = this.require(compiled.kind, id);
    if (parentId !== null && record.parent !== parentId) throw notFound(this.#context.catalog, compiled.kind, id);
    return record;
  }

  async #answer(
    compiled: CompiledResource,
    record: StoredRecord,
    principal: Principal,
    view: Partial<View> = {},
  ): Promise<OperationResult> {
    const body = this.#context.renderer.resource(compiled, record, this.reader, { ...viewOf(principal), ...view });
    const live = await compiled.resource.live?.read([record], this.#context.ports());
    return { body: { ...body, ...live?.get(record.id) }, etag: highestRevision(compiled, record, this.reader) };
  }

  #configOf(compiled: CompiledResource, record: StoredRecord): JsonObject {
    const all = joinSecrets(record.doc, record.secrets, compiled.secretFields);
    return Object.fromEntries(Object.keys(compiled.config.properties).map((name) => [name, all[name] ?? null]));
  }

  #put(
    compiled: CompiledResource,
    parts: { id: string; parent: string | null; config: JsonObject; extra: JsonObject },
  ): RecordPut {
    const { doc, secrets } = splitSecrets(parts.config, compiled.secretFields);
    return {
      kind: compiled.kind,
      id: parts.id,
      parent: parts.parent,
      doc: { ...doc, ...parts.extra },
      secrets,
      uniqueKeys: [...(compiled.resource.uniqueKeys?.(parts.config as never, parts, parts.extra) ?? [])],
      references: referencesIn(parts.config, compiled.referenceFields, this.#context.catalog.kindOfId),
      ...(compiled.resource.isAcyclic === true && { isAcyclic: true }),
    };
  }

  #modulePut(module: CompiledModule, id: string, config: JsonObject): RecordPut {
    const { doc, secrets } = splitSecrets(config, module.secretFields);
    const references = referencesIn(config, module.referenceFields, this.#context.catalog.kindOfId);
    return { kind: module.kind, id, parent: id, doc, secrets, uniqueKeys: [], references };
  }

  /** Null when the module already is what it should become: then nothing is written. */
  #changedModulePut(module: CompiledModule, id: string, config: JsonObject, principal: Principal): RecordPut | null {
    const current = this.reader.get(module.kind, id);
    const previous = current === undefined ? null : joinSecrets(current.doc, current.secrets, module.secretFields);
    const next = keepUnseenSecrets(config, previous, module.secretFields, canReadSecrets(principal));
    return previous !== null && isSame(next, previous) ? null : this.#modulePut(module, id, next);
  }

  #deletionEvents(compiled: CompiledResource, record: StoredRecord, principal: Principal): WriteSet['events'] & object {
    const children = this.#context.catalog.childrenOf(compiled.kind).flatMap((child) => {
      if (!isChangeWanted(child, 'deleted', this.#context.events)) return [];
      const query = { beforeId: null, limit: Number.MAX_SAFE_INTEGER };
      return this.reader
        .pageOfParent(child.kind, record.id, query)
        .flatMap((each) => this.#deletionEvents(child, each, principal));
    });
    return [
      ...children,
      ...changeEvent(
        compiled,
        'deleted',
        { record, reader: this.reader, writeSet: {}, principal },
        this.#context.events,
      ),
    ];
  }

  /**
   * An event shows the whole route or edge. Two module writes at once would each show it without the other, so they take
   * turns, but only while somebody listens: else they share a commit.
   */
  #serializedIfObserved<Result>(compiled: CompiledResource, id: string, task: () => Promise<Result>): Promise<Result> {
    return isChangeWanted(compiled, 'updated', this.#context.events) ? this.#context.mutex.run(id, task) : task();
  }

  #authorize(
    compiled: CompiledResource,
    principal: Principal,
    config: JsonObject | null,
    previous: JsonObject | null,
  ): void {
    const refusal = compiled.resource.authorize?.(principal, config as never, previous as never) ?? null;
    if (refusal !== null) throw documentErrors.create('ERR_POSTERN_FORBIDDEN', refusal);
  }
}

function viewOf(principal: Principal): View {
  return { readable: canReadSecrets(principal) ? 'clear' : 'empty', masked: 'masked' };
}

/** The create's answer shows something that is shown only once, so it cannot be given a second time. */
function isShownOnce(compiled: CompiledResource): boolean {
  return (
    compiled.resource.shownOnce !== undefined || compiled.secretFields.some((field) => field.visibility === 'masked')
  );
}

function parentFieldOf(compiled: CompiledResource): string | null {
  const link = compiled.resource.parent;
  return link !== undefined && 'field' in link ? link.field : null;
}

function parentFromField(compiled: CompiledResource, config: JsonObject): string | null {
  const field = parentFieldOf(compiled);
  return field === null ? null : (config[field] as string);
}

/** What is stored beside the configuration: created_at, derived and internal fields. */
function omitConfig(compiled: CompiledResource, doc: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(doc).filter(([name]) => !(name in compiled.config.properties)));
}

function isSame(a: JsonObject, b: JsonObject): boolean {
  return Object.keys(a).every((name) => sameValue(a[name], b[name]));
}

function sameValue(a: unknown, b: unknown): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}
