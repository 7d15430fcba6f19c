import { mapInSlices } from '../../../kit/async/slices.ts';
import { rfc3339 } from '../../../kit/clock.ts';
import type { JsonObject, JsonValue } from '../../../kit/json.ts';
import type { RecordReader } from '../../../store/replica/record-table.ts';
import type {
  HistoryDocument,
  HistoryEntry,
  HistoryHead,
  HistoryItem,
  HistoryQuery,
  HistoryStore,
  HistorySummary,
  RecordKey,
  StoredRecord,
} from '../../../store/store.ts';
import { keyName } from '../../resources/console-session-record.ts';
import { refuseWithout, resourceErrors } from '../../resources/errors.ts';
import type { OperationRequest, OperationResult, Principal } from '../../resources/operation.ts';
import type { ChangesPort } from '../../resources/ports.ts';
import { hasScope, scopeOf, type View } from '../../resources/scopes.ts';
import { keyExpectation } from '../authorize.ts';
import { type DocumentForm, documentForm, ownerIdOf } from '../catalog.ts';
import { noteOf } from '../commits.ts';
import { confirmChange, withdrawChange } from '../confirmation/confirm.ts';
import { pendingForm, pendingNow } from '../confirmation/pending-change.ts';
import type { DocumentsContext } from '../documents-context.ts';
import { API_QUEUE, longAnswer } from '../long-answer.ts';
import { refusalError } from '../refusal-error.ts';
import { titleOf } from '../search.ts';
import type { HistoryChain } from './history-chain.ts';
import { authorizeKept, cannotUndo, planUndo, whyNotUndo } from './undo.ts';

/** A change of more documents is not read for the name of one that is gone. */
const MAX_READ_FOR_NAMES = 20;
const MASKED: View = { readable: 'masked', masked: 'masked' };

/** The history of configuration: what changed, who changed it, and the way back. */
export class Changes implements ChangesPort {
  readonly #context: DocumentsContext;
  readonly #history: HistoryStore;
  readonly #chain: Pick<HistoryChain, 'verify'>;

  constructor(context: DocumentsContext, history: HistoryStore, chain: Pick<HistoryChain, 'verify'>) {
    this.#chain = chain;
    this.#context = context;
    this.#history = history;
  }

  async list(query: HistoryQuery, principal: Principal): ReturnType<ChangesPort['list']> {
    const found = await this.#history.list(query);
    const readable = found.filter(({ keys }) => keys.every((key) => this.#mayRead(key, principal)));
    const deleted = await this.#namesOfDeleted(readable);
    return {
      changes: readable.map((summary) => ({
        ...this.#headOf(summary),
        ...this.#confirmBy(summary),
        count: summary.count,
        objects: summary.keys.map(({ kind, id, op }) => {
          const named = this.#named({ kind, id });
          return { ...named, name: this.#nameOf(named) ?? deleted.get(ownerIdOf(id)) ?? '', change: op };
        }),
      })),
      lastRevision: found.at(-1)?.revision ?? null,
      isFull: found.length === query.limit,
      pending: this.#pending(),
    };
  }

  /** What the history knows of resources that are gone: only changes that deleted their first one are read for it. */
  async #namesOfDeleted(summaries: readonly HistorySummary[]): Promise<ReadonlyMap<string, string>> {
    const names = new Map<string, string>();
    for (const { revision, keys, count } of summaries) {
      const isGone = keys.some((key) => !names.has(ownerIdOf(key.id)) && this.#nameOf(this.#named(key)) === null);
      if (!isGone || count > MAX_READ_FOR_NAMES) continue;
      const entry = await this.#history.get(revision);
      if (entry !== null) for (const [id, name] of namesIn(entry, this.#context.replica)) names.set(id, name);
    }
    return names;
  }

  /** What people call it now; null: it is gone. */
  #nameOf({ kind, id }: { readonly kind: string; readonly id: string }): string | null {
    const { replica } = this.#context;
    const record = replica.get(kind, id);
    return record === undefined ? null : nameOf(record, replica);
  }

  #headOf(head: HistoryHead): JsonObject {
    const { author } = head.note;
    const { kind, id } = author;
    const name = kind === 'api_key' ? keyName(id as string, this.#context.replica) : ((id ?? '') as string);
    return { ...headOf(head), author: { ...author, name } };
  }

  #pending(): JsonObject | null {
    const pending = pendingNow(this.#context);
    return pending && pendingForm(pending, this.#context);
  }

  /** For a change that waits. */
  #confirmBy({ revision }: HistoryHead): JsonObject {
    const pending = pendingNow(this.#context);
    return { confirm_by: pending?.revision === revision ? rfc3339(pending.confirmByMs) : null };
  }

  async get(revision: number, principal: Principal): Promise<OperationResult> {
    const entry = await this.#require(revision);
    this.#requireScopes(entry, 'GET', principal);
    const deleted = namesIn(entry, this.#context.replica);
    const objects = await mapInSlices(API_QUEUE, entry.items, (item) => ({
      ...this.#named(item),
      name: this.#nameOf(this.#named(item)) ?? deleted.get(ownerIdOf(item.id)) ?? '',
      change: item.before === null ? 'created' : item.after === null ? 'deleted' : 'updated',
      before: this.#shown(item, item.before),
      after: this.#shown(item, item.after),
      changed_secrets: changedSecrets(item),
    }));
    const body = {
      ...this.#headOf(entry),
      ...this.#confirmBy(entry),
      count: entry.items.length,
      cannot_undo: await whyNotUndo(entry, this.#context),
      objects,
    };
    return longAnswer(body, 'objects');
  }

  async verify(): Promise<JsonObject> {
    const { isIntact, checked, unlinked, firstBroken } = await this.#chain.verify();
    return { intact: isIntact, checked, unlinked, first_broken: firstBroken };
  }

  async undo(
    revision: number,
    { isForced, message }: { readonly isForced: boolean; readonly message: string },
    request: OperationRequest,
  ): Promise<OperationResult> {
    const entry = await this.#require(revision);
    this.#requireScopes(entry, 'POST', request.principal);
    const plan = await planUndo(entry, { isForced, principal: request.principal, context: this.#context });
    const note = noteOf(request, message === '' ? `undo of revision ${revision}` : message, 'undo');
    const { expect = [] } = plan.writeSet;
    const ofKey = await keyExpectation(request, this.#context);
    const result = await this.#context.store.commit({ ...plan.writeSet, expect: [...expect, ...ofKey], note });
    if (!result.ok) {
      if (result.reason === 'conflict' || result.reason === 'idempotency_used') {
        throw cannotUndo(
          `revision ${revision} cannot be undone now, because somebody changes the same documents: try again`,
        );
      }
      const refusal = refusalError(result, plan.writeSet, this.#context);
      if (result.reason === 'change_pending') throw refusal;
      const { message: why } = refusal;
      throw cannotUndo(`revision ${revision} cannot be undone: ${why}`);
    }
    await this.#context.served(result.revision);
    for (const task of plan.afterwards) await task();
    return {
      body: { revision: result.revision, undoes: revision, skipped: plan.skipped as unknown as JsonValue },
      revision: result.revision,
    };
  }

  /** Takes a change that waits back before its time is over. */
  async revert(revision: number, message: string, request: OperationRequest): Promise<OperationResult> {
    const entry = await this.#require(revision);
    this.#requireScopes(entry, 'POST', request.principal);
    const released = await this.#history.released();
    return withdrawChange(entry, { message, released }, request, this.#context);
  }

  async confirm(revision: number, message: string, request: OperationRequest): Promise<OperationResult> {
    // A wait without an entry has nothing to confirm, and ends.
    const isWaiting = pendingNow(this.#context)?.revision === revision;
    const entry = isWaiting ? await this.#history.get(revision) : await this.#require(revision);
    if (entry === null) return confirmChange({ revision, message, expect: [] }, request, this.#context);
    this.#requireScopes(entry, 'POST', request.principal);
    // What it expects must not be older than the change.
    await this.#context.replica.refresh();
    const expect = await authorizeKept(entry, request.principal, this.#context);
    return confirmChange({ revision, message, expect }, request, this.#context);
  }

  async #require(revision: number): Promise<HistoryEntry> {
    const entry = await this.#history.get(revision);
    if (entry !== null) return entry;
    throw resourceErrors.create(
      'ERR_POSTERN_NOT_FOUND',
      `the history has no change with revision ${revision}: it may be older than the history, or have changed no configuration. "postern changes" lists them`,
      { details: { id: String(revision) } },
    );
  }

  #mayRead(key: RecordKey, principal: Principal): boolean {
    const path = this.#pathOf(key.kind);
    return path === null || hasScope(principal, scopeOf('GET', path));
  }

  #requireScopes({ items }: HistoryEntry, method: string, principal: Principal): void {
    for (const kind of new Set(items.map((item) => item.kind))) this.#requireScope(kind, method, principal);
  }

  #requireScope(kind: string, method: string, principal: Principal): void {
    const path = this.#pathOf(kind);
    const scope = path === null ? '*' : scopeOf(method, path);
    if (hasScope(principal, scope)) return;
    refuseWithout({
      scope,
      message: `this API key lacks the scope "${scope}", which the change needs: use a key that has it`,
    });
  }

  /** Records that the server keeps by itself belong to a resource too. */
  #pathOf(kind: string): string | null {
    const { catalog } = this.#context;
    return documentForm(catalog, kind)?.path ?? catalog.derivedKinds.get(kind)?.resource.path ?? null;
  }

  #named({ kind, id }: Pick<RecordKey, 'kind' | 'id'>): { kind: string; module?: string; id: string } {
    const [resource, module] = kind.split('.');
    return { kind: resource ?? kind, ...(module !== undefined && { module }), id: ownerIdOf(id) };
  }

  #shown({ kind, id }: HistoryItem, document: HistoryDocument | null): JsonObject | null {
    if (document === null) return null;
    const form: DocumentForm | null = documentForm(this.#context.catalog, kind);
    // A kind of another version: nothing is known about which of its fields are secret.
    if (form === null) return {};
    return this.#context.renderer.configuration(form.compiled, { kind, id, revision: 0, ...document }, MASKED);
  }
}

/** Names of the documents of an entry, as they were in it. */
function namesIn({ items }: HistoryEntry, reader: RecordReader): ReadonlyMap<string, string> {
  const records = new Map<string, StoredRecord>();
  for (const { kind, id, before, after } of items) {
    const document = after ?? before;
    if (document !== null && !kind.includes('.')) records.set(`${kind} ${id}`, { kind, id, revision: 0, ...document });
  }
  // A route is named by its edge, which may have gone with it.
  const within = {
    get: (kind: string, id: string) => records.get(`${kind} ${id}`) ?? reader.get(kind, id),
    page: () => [],
    pageOfParent: () => [],
  };
  return new Map([...records.values()].map((record) => [record.id, nameOf(record, within)]));
}

/** Empty: nothing that people would know it by. */
function nameOf(record: StoredRecord, reader: RecordReader): string {
  const title = titleOf(record, reader);
  return title === record.id ? '' : title;
}

/** Masked, an old and a new secret look the same. */
function changedSecrets({ before, after }: HistoryItem): string[] {
  if (before === null || after === null) return [];
  const fields = new Set([...Object.keys(before.secrets ?? {}), ...Object.keys(after.secrets ?? {})]);
  return [...fields].filter((field) => before.secrets?.[field] !== after.secrets?.[field]).sort();
}

function headOf({ revision, atMs, note, chain }: HistoryHead): JsonObject {
  return { revision, at: rfc3339(atMs), author: note.author, message: note.message, is_linked: chain !== null };
}
