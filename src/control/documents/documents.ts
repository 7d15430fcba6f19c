import { rfc3339 } from '../../kit/clock.ts';
import type { JsonObject } from '../../kit/json.ts';
import { pointerTo } from '../../kit/schema/field-problem.ts';
import type { RecordReader } from '../../store/replica/record-table.ts';
import type { OutboxEvent, StoredRecord, WriteSet } from '../../store/store.ts';
import type { OperationRequest, OperationResult, Principal } from '../resources/operation.ts';
import type { DocumentsPort, RecordChange } from '../resources/ports.ts';
import { canReadSecrets, hasAllScopes, type View, viewOf } from '../resources/scopes.ts';
import { authorize, authorizeChange } from './authorize.ts';
import type { CompiledModule, CompiledResource } from './catalog.ts';
import { changeEvent, isChangeWanted } from './change-events.ts';
import { answerWrite, type Committed, commitWithRetries, IdempotentCreates, writtenRecord } from './commits.ts';
import { repeatsPending } from './confirmation/pending-change.ts';
import {
  asSeen,
  changedByResource,
  changedConfig,
  checkConfig,
  decodeWrite,
  expectMatch,
  legacyPatchBody,
  sealedConfig,
  withProblem,
  withWarning,
} from './decode-write.ts';
import type { DocumentsContext } from './documents-context.ts';
import { documentErrors, invalidBody } from './errors.ts';
import { ModuleDocuments } from './module-documents.ts';
import {
  deletionOf,
  endedBy,
  extraOf,
  isUnchanged,
  modulePut,
  type PlacedPut,
  type PlacedWriteSet,
  parentFieldOf,
  parentFromField,
  placed,
  resourcePut,
  storedFields,
  touchedParent,
} from './record-puts.ts';
import { referencesIn, unknownReference } from './reference-fields.ts';
import { requireRecord, requireUnder } from './refusal-error.ts';
import { highestRevision, readingLive } from './renderer.ts';
import { clearedSecretsIn, sentSecretsIn, withoutUnsentSecrets } from './secret-fields.ts';

/** The resource that a request addresses, and its parent in the path. */
export interface ResourceAddress {
  readonly compiled: CompiledResource;
  readonly id: string;
  readonly parentId: string | null;
}

type InlineModules = ReadonlyMap<CompiledModule, JsonObject>;
const NO_MODULES: InlineModules = new Map();
interface UpdateParts {
  readonly modules?: InlineModules;
  readonly allowedAsOf?: number;
  readonly stated?: JsonObject;
}
interface Written {
  readonly record: StoredRecord;
  readonly revision: number;
}

/** The configuration resources: decodes, checks, writes in one transaction each, and renders them. */
export class Documents implements DocumentsPort {
  readonly modules: ModuleDocuments;
  readonly #context: DocumentsContext;
  readonly #creates: IdempotentCreates;

  constructor(context: DocumentsContext) {
    this.#context = context;
    this.#creates = new IdempotentCreates(context.store);
    this.modules = new ModuleDocuments(context);
  }

  get reader(): RecordReader {
    return this.#context.replica;
  }

  /** How many resources of a kind there are. */
  count(kind: string): number {
    return this.#context.replica.count(kind);
  }

  require(kind: string, id: string): StoredRecord {
    return requireRecord(this.#context, kind, id);
  }

  render(record: StoredRecord, principal: Principal): JsonObject {
    return this.#context.renderer.resource(this.#compiled(record.kind), record, this.reader, viewOf(principal));
  }

  /**
   * Creates a resource in exchange for another record, in one transaction: of two at the same time, one wins. `spent`
   * is called for each attempt, and throws when that record is gone.
   */
  createFor(spent: () => StoredRecord, kind: string, request: OperationRequest): Promise<OperationResult> {
    return this.#createNow(this.#compiled(kind), request, null, spent);
  }

  create(compiled: CompiledResource, request: OperationRequest, parentId: string | null): Promise<OperationResult> {
    return this.once(
      request,
      () => this.#createNow(compiled, request, parentId),
      async (id) => {
        const record = this.reader.get(compiled.kind, id);
        if (record === undefined || isShownOnce(compiled)) return null;
        return this.#answer(compiled, record, viewOf(request.principal));
      },
    );
  }

  once(
    request: OperationRequest,
    create: () => Promise<OperationResult>,
    replay: (id: string) => Promise<OperationResult | null>,
  ): Promise<OperationResult> {
    return this.#creates.run(request.idempotency, create, async (id) => {
      // Another process may have created it, and the replica may not have received it yet.
      await this.#context.replica.refresh();
      const answer = await replay(id);
      return answer === null ? null : { ...answer, headers: { ...answer.headers, 'idempotent-replayed': 'true' } };
    });
  }

  async #createNow(
    compiled: CompiledResource,
    request: OperationRequest,
    parentId: string | null,
    spent?: () => StoredRecord,
  ): Promise<OperationResult> {
    const { settings, catalog, clock, replica } = this.#context;
    const { resource } = compiled;
    const { principal } = request;
    const decoded = decodeWrite(compiled, request.body, 'create', settings);
    const checked = checkConfig(compiled, decoded.config, settings);
    const modules = [...decoded.modules].map(([module, config]) => {
      const at = pointerTo('', module.module.name);
      return { module, at, config: sealedConfig(module, { config, at }, null) };
    });
    authorize(compiled, { principal, id: null, config: checked, previous: null }, this.#context);
    this.#refuseConflict(compiled, checked, null);
    await requireReferences(this.#context, compiled, checked);

    const nowMs = clock.nowMs();
    const id = this.#context.newId(resource.idPrefix);
    const creation =
      (await resource.onCreate?.(checked as never, {
        ...{ id, principal, settings, nowMs, reader: this.reader },
        newToken: (prefix) => this.#context.newToken(prefix),
        mac: (purpose, data) => this.#context.store.mac(purpose, data),
      })) ?? {};
    if ('problems' in creation) throw invalidBody(creation.problems);
    const config = { ...checked, ...creation.config };
    const extra = {
      created_at: rfc3339(nowMs),
      ...creation.derived,
      ...(creation.internal && { internal: creation.internal }),
    };

    const parent = parentId ?? parentFromField(compiled, config);
    const own = resourcePut(compiled, { id, parent, config, extra, previous: null, asOf: replica.revision }, catalog);
    const inline = modules.map(({ module, config, at }) => modulePut(module, { ownerId: id, config, at }, catalog));
    const { beside = {} } = creation;
    const puts = [own, ...inline, ...placed(beside.puts)];
    const event = this.#event(compiled, 'created', { ...own, revision: 0 }, { puts }, principal);
    const writeSet: PlacedWriteSet = {
      puts,
      touches: touchedParent(compiled, parent),
      events: [...event, ...(beside.events ?? [])],
      ...(request.idempotency && {
        idempotency: { ...request.idempotency, kind: compiled.kind, id, createdAtMs: nowMs },
      }),
    };
    const commit = {
      attempt: () => {
        // Also when the parent was deleted since the last attempt: nothing else can make this write set conflict.
        if (parentId !== null && resource.parent !== undefined) this.require(resource.parent.kind, parentId);
        const deletes = beside.deletes?.filter((key) => this.reader.get(key.kind, key.id) !== undefined) ?? [];
        return spent === undefined ? { ...writeSet, deletes } : this.#spending(spent(), writeSet, principal);
      },
      parentField: parentFieldOf(compiled),
      request,
    };
    const write = (): Promise<Committed> => commitWithRetries(this.#context, commit);
    return answerWrite(compiled, this.#context, write, async (committed, reader) => {
      const created = writtenRecord(committed, own) ?? this.require(compiled.kind, id);
      const answer = await this.#answer(compiled, created, { ...viewOf(principal), masked: 'clear' }, reader);
      return { ...answer, body: { ...answer.body, ...creation.shownOnce } };
    });
  }

  /** No revocation: what an invitation on trial gives must not outlive the trial. */
  #spending(record: StoredRecord, writeSet: PlacedWriteSet, principal: Principal): PlacedWriteSet {
    const compiled = this.#compiled(record.kind);
    return {
      ...writeSet,
      expect: [asSeen(record)],
      deletes: [{ kind: record.kind, id: record.id }],
      events: [...(writeSet.events ?? []), ...this.#deletionEvents(compiled, record, principal)],
    };
  }

  get({ compiled, id, parentId }: ResourceAddress, principal: Principal): Promise<OperationResult> {
    return this.#answer(compiled, requireUnder(this.#context, compiled, id, parentId), viewOf(principal));
  }

  async list(
    compiled: CompiledResource,
    principal: Principal,
    page: { readonly beforeId: string | null; readonly limit: number },
    parentId: string | null,
  ): Promise<{ readonly items: readonly JsonObject[]; readonly lastId: string; readonly hasMore: boolean }> {
    const query = { beforeId: page.beforeId, limit: page.limit + 1 };
    const { reader } = this;
    const found =
      parentId === null ? reader.page(compiled.kind, query) : reader.pageOfParent(compiled.kind, parentId, query);
    const records = found.slice(0, page.limit);
    const { live: fields } = compiled.resource;
    const live = fields && (await readingLive(fields, records, this.#context.ports()));
    const view = viewOf(principal);
    const items = records.map((record) => ({
      ...this.#context.renderer.resource(compiled, record, reader, view),
      ...live?.get(record.id),
    }));
    return { items, lastId: records.at(-1)?.id ?? '', hasMore: found.length > page.limit };
  }

  async patch(address: ResourceAddress, request: OperationRequest): Promise<OperationResult> {
    const { otherNames = {} } = address.compiled.resource;
    const body = request.isLegacyClient ? legacyPatchBody(request.body, otherNames) : request.body;
    const decoded = decodeWrite(address.compiled, body, 'patch', this.#context.settings);
    const clearedSecrets = clearedSecretsIn(request.body, address.compiled.secretFields);
    const changeOf = (config: JsonObject): RecordChange => ({
      config: {
        ...withoutUnsentSecrets(config, decoded.config, address.compiled.secretFields),
        ...decoded.config,
      },
      clearedSecrets,
    });
    const { compiled, id, parentId } = address;
    const previous = storedFields(compiled, requireUnder(this.#context, compiled, id, parentId));
    const config = { ...previous, ...decoded.config };
    // Before it reads from the store: what it finds must still hold.
    const asOf = this.#context.replica.revision;
    await authorizeChange(compiled, { principal: request.principal, id, config, previous }, this.#context);
    const isAsked = compiled.resource.authorizeChange !== undefined && !hasAllScopes(request.principal);
    const more = { modules: decoded.modules, stated: decoded.config, ...(isAsked && { allowedAsOf: asOf }) };
    const write = (): Promise<Written> => this.#update(address, request, changeOf, more);
    return answerWrite(compiled, this.#context, write, ({ record }, reader) =>
      this.#answer(compiled, record, viewOf(request.principal), reader),
    );
  }

  update(
    kind: string,
    id: string,
    request: OperationRequest,
    change: (config: JsonObject) => RecordChange,
  ): Promise<Written> {
    return this.#update({ compiled: this.#compiled(kind), id, parentId: null }, request, change);
  }

  async #update(
    { compiled, id, parentId }: ResourceAddress,
    request: OperationRequest,
    changeOf: (config: JsonObject) => RecordChange,
    { modules = NO_MODULES, allowedAsOf, stated = {} }: UpdateParts = {},
  ): Promise<Written> {
    const { catalog, settings } = this.#context;
    let unchanged: StoredRecord | undefined;
    const attempt = (): PlacedWriteSet => {
      const record = requireUnder(this.#context, compiled, id, parentId);
      unchanged = record;
      const matched = expectMatch(request, compiled, record, this.reader);
      const previous = storedFields(compiled, record);
      const change = changeOf(previous);
      const { principal } = request;
      const checked = changedConfig(compiled, change, previous, { principal, settings });
      const nowMs = this.#context.clock.nowMs();
      const { config, derived } = changedByResource(compiled, checked, previous, { settings, nowMs });
      authorize(compiled, { principal, id, config, previous }, this.#context);
      this.#refuseConflict(compiled, config, previous);
      const extra = { ...extraOf(compiled, record.doc), ...derived, ...change.derived };
      const isGuess = !canReadSecrets(principal) && sentSecretsIn(stated, compiled.secretFields).length > 0;
      const isSame = isUnchanged(config, previous) && isUnchanged(extra, record.doc);
      const isRepeated = isSame && repeatsPending(record, stated, this.#context);
      const asOf = allowedAsOf ?? this.#context.replica.revision;
      const parts = { id, parent: record.parent, config, extra, previous, asOf };
      const put = { ...resourcePut(compiled, parts, catalog), ...(isRepeated && { isRevocation: true as const }) };
      const own = isSame && !isRepeated ? [] : [put];
      const inline = [...modules].map(([module, value]) => {
        const parts = { ownerId: id, config: value, at: pointerTo('', module.module.name) };
        return this.modules.change(module, parts, principal);
      });
      const unwritten = [
        ...(isGuess && own.length === 0 ? [put] : []),
        ...inline.flatMap((change) => change.unwritten),
      ];
      const expect = [...matched, asSeen(record), ...inline.flatMap((change) => change.expect)];
      const changed: PlacedPut[] = [...own, ...inline.flatMap((change) => change.puts)];
      const { beside = {} } = change;
      const ended = endedBy(compiled, { id, config, previous }, this.#context);
      const puts = [...changed, ...placed(beside.puts)];
      const deletes = [...(beside.deletes ?? []), ...(ended.deletes ?? [])];
      const endsPeople = [...(beside.endsPeople ?? []), ...(ended.endsPeople ?? [])];
      if (puts.length + deletes.length === 0 && change.event === undefined) return { expect, unwritten };
      const verbs = [...(changed.length > 0 ? ['updated'] : []), ...(change.event === undefined ? [] : [change.event])];
      const after = { ...(own[0] ?? record), revision: 0 };
      const events = verbs.flatMap((verb) => this.#event(compiled, verb, after, { puts }, principal));
      const idempotency = change.made && request.idempotency;
      return {
        expect,
        puts,
        unwritten,
        deletes,
        endsPeople,
        ...(change.isGiving === true && { concerns: [{ kind: compiled.kind, id }] }),
        events: [...events, ...(beside.events ?? [])],
        keepAtLeastOne: compiled.resource.keepAtLeastOne ?? [],
        ...(idempotency && {
          idempotency: { ...idempotency, ...change.made, createdAtMs: nowMs },
        }),
      };
    };
    const committed = await this.#context.mutex.run(id, () => commitWithRetries(this.#context, { attempt, request }));
    // A write that left the record alone expected it to be as it was.
    const record = writtenRecord(committed, { kind: compiled.kind, id }) ?? unchanged;
    if (record === undefined) throw new Error(`the commit of ${id} did not write it`);
    return { record, revision: committed.revision };
  }

  #refuseConflict({ resource }: CompiledResource, config: JsonObject, previous: JsonObject | null): void {
    const conflict = resource.conflict?.(config as never, previous as never, this.#context.settings) ?? null;
    if (conflict !== null) throw documentErrors.create('ERR_POSTERN_ALREADY_EXISTS', conflict);
  }

  async delete({ compiled, id, parentId }: ResourceAddress, request: OperationRequest): Promise<OperationResult> {
    const { resource } = compiled;
    let deleted: StoredRecord | null = null;
    const attempt = (): PlacedWriteSet => {
      const record = requireUnder(this.#context, compiled, id, parentId);
      deleted = record;
      const { principal } = request;
      const previous = storedFields(compiled, record);
      authorize(compiled, { principal, id, config: null, previous }, this.#context);
      // Authorization used the replica's version of the record: it must still be current, unless all are allowed. A
      // stolen key that changes itself all the time must not win against its deletion.
      const isDecided = resource.authorize === undefined || hasAllScopes(principal);
      const ended = endedBy(compiled, { id, config: null, previous }, this.#context);
      return {
        expect: [...expectMatch(request, compiled, record, this.reader), ...(isDecided ? [] : [asSeen(record)])],
        deletes: [deletionOf(compiled, { id, previous }), ...(ended.deletes ?? [])],
        endsPeople: ended.endsPeople ?? [],
        touches: touchedParent(compiled, record.parent),
        events: this.#deletionEvents(compiled, record, request.principal),
        keepAtLeastOne: resource.keepAtLeastOne ?? [],
      };
    };
    // Takes turns with changes of the same record, which would otherwise make it try again and again.
    const { revision } = await this.#context.mutex.run(id, () =>
      commitWithRetries(this.#context, { attempt, request }),
    );
    await this.#context.afterCommit(async () => {
      if (deleted !== null) await resource.afterDelete?.(deleted, this.#context.ports());
    });
    return { body: null, revision };
  }

  #compiled(kind: string): CompiledResource {
    const compiled = this.#context.catalog.compiled.get(kind);
    if (compiled === undefined) throw new Error(`no configuration resource has the kind ${kind}`);
    return compiled;
  }

  async #answer(
    compiled: CompiledResource,
    record: StoredRecord,
    view: View,
    reader: RecordReader = this.reader,
  ): Promise<OperationResult> {
    const body = this.#context.renderer.resource(compiled, record, reader, view);
    const { live: fields } = compiled.resource;
    const live = fields && (await readingLive(fields, [record], this.#context.ports()));
    const etag = highestRevision(compiled, record, reader);
    const hasLiveFields = live !== undefined;
    const whole = { body: { ...body, ...live?.get(record.id) }, etag, hasLiveFields };
    const answer = withProblem(whole, record.id, this.#context);
    return withWarning(answer, record, this.#context);
  }

  #event(
    compiled: CompiledResource,
    verb: string,
    record: StoredRecord,
    writeSet: WriteSet,
    principal: Principal,
  ): readonly OutboxEvent[] {
    return changeEvent(compiled, verb, { record, reader: this.reader, writeSet, principal }, this.#context.events);
  }

  /** Records that are deleted along with this one are reported before it. */
  #deletionEvents(compiled: CompiledResource, record: StoredRecord, principal: Principal): readonly OutboxEvent[] {
    const children = this.#context.catalog.childrenOf(compiled.kind).flatMap((child) => {
      if (!isChangeWanted(child, 'deleted', this.#context.events)) return [];
      const all = this.reader.pageOfParent(child.kind, record.id, { beforeId: null, limit: Number.MAX_SAFE_INTEGER });
      return all.flatMap((each) => this.#deletionEvents(child, each, principal));
    });
    return [...children, ...this.#event(compiled, 'deleted', record, {}, principal)];
  }
}

/** The create's response contains a value that is shown only once, so it cannot be repeated. */
function isShownOnce(compiled: CompiledResource): boolean {
  return (
    compiled.resource.shownOnce !== undefined || compiled.secretFields.some((field) => field.visibility === 'masked')
  );
}

/** For a resource whose `onCreate` reads what it refers to: another process may have created it a moment ago. */
async function requireReferences(
  { replica, catalog }: DocumentsContext,
  { resource, referenceFields }: CompiledResource,
  config: JsonObject,
): Promise<void> {
  if (resource.readsReferences !== true) return;
  const missing = (): ReturnType<typeof referencesIn>[number] | undefined =>
    referencesIn(config, referenceFields, catalog.kindOfId, '').find(
      ({ to }) => replica.get(to.kind, to.id) === undefined,
    );
  if (missing() === undefined) return;
  await replica.refresh();
  const absent = missing();
  if (absent !== undefined) throw unknownReference(absent.path, absent.to.id, [absent.to.kind]);
}
