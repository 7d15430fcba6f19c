import { mapInSlices, TimeSlice } from '../../../kit/async/slices.ts';
import { canonicalJson } from '../../../kit/json.ts';
import type { RecordReader } from '../../../store/replica/record-table.ts';
import type {
  Expectation,
  HistoryDocument,
  HistoryEntry,
  HistoryItem,
  OutboxEvent,
  RecordDelete,
  RecordKey,
  StoredRecord,
} from '../../../store/store.ts';
import type { Principal } from '../../resources/operation.ts';
import { API_KEY_KIND, authorize, authorizeChange, type Change } from '../authorize.ts';
import { type CompiledResource, type DocumentForm, documentForm, ownerIdOf } from '../catalog.ts';
import { changeEvent } from '../change-events.ts';
import type { DocumentsContext } from '../documents-context.ts';
import { documentErrors } from '../errors.ts';
import { API_QUEUE } from '../long-answer.ts';
import {
  deletionOf,
  endedBy,
  extraOf,
  modulePut,
  type PlacedPut,
  type PlacedWriteSet,
  resourcePut,
  storedFields,
  touchedParent,
} from '../record-puts.ts';
import { otherLogins } from '../route-logins.ts';
import { joinSecrets } from '../secret-fields.ts';
import { holdSecretsOfRevert, refuseMovedSecrets } from '../upstream-secrets.ts';

export interface UndoOptions {
  readonly isForced: boolean;
  /** Nobody can be asked: what contradicts the restored documents gives way. */
  readonly isRevert?: true;
  /**
   * A change that waits is taken back: the server would do it with no rights, and nobody may move a secret of it
   * meanwhile (`holdSecretsOfRevert`). The store refuses it if the change does not wait any longer.
   */
  readonly isWithdrawal?: true;
  /** Revoked while the change waited: they stay as they are. */
  readonly released?: readonly RecordKey[];
  readonly principal: Principal;
  readonly context: DocumentsContext;
}

export interface UndoPlan {
  readonly writeSet: PlacedWriteSet;
  /** Keys, tokens, links and accounts that were revoked: they stay so. */
  readonly skipped: readonly RecordKey[];
  readonly afterwards: readonly (() => Promise<void>)[];
}

/** What is to be done about one document. */
interface Step extends DocumentForm {
  readonly item: HistoryItem;
  readonly current: StoredRecord | undefined;
}

/** The write set that restores every document as it was before the change. Throws when there is nothing to restore. */
export async function planUndo(entry: HistoryEntry, options: UndoOptions): Promise<UndoPlan> {
  const plan = await planRestore(entry, options);
  const { puts = [], deletes = [] } = plan.writeSet;
  if (puts.length + deletes.length > 0) {
    const held = holdSecretsOfRevert(plan.writeSet, options.context);
    return { ...plan, writeSet: { ...plan.writeSet, expect: [...(plan.writeSet.expect ?? []), ...held] } };
  }
  throw cannotUndo(nothingLeft(entry.revision, plan.skipped));
}

/** Before anybody agrees to it: why an undo of the change would restore nothing now; null: it would. */
export async function whyNotUndo(entry: HistoryEntry, context: DocumentsContext): Promise<string | null> {
  const items = entry.items.filter(({ kind }) => !context.catalog.derivedKinds.has(kind));
  const slice = new TimeSlice(API_QUEUE);
  const revoked: RecordKey[] = [];
  for (const item of items) {
    const form = documentForm(context.catalog, item.kind);
    const step = form && { ...form, item, current: currentOf(item, context) };
    if (step !== null && isRevoked(step)) revoked.push(item);
    else if (step === null || !isSame(item.before, step.current)) return null;
    if (slice.isOver) await slice.next();
  }
  return nothingLeft(entry.revision, revoked);
}

const ACCOUNT = 'user_account';

function nothingLeft(revision: number, revoked: readonly RecordKey[]): string {
  const why = revoked.some(({ kind }) => kind === ACCOUNT)
    ? 'a deleted account does not come back, because its passkeys are gone. Invite the person again'
    : revoked.length > 0
      ? 'deleted keys, tokens and links do not come back. Create new ones'
      : 'its documents are as before. It was undone already, or changed back';
  return `revision ${revision} leaves nothing to undo: ${why}`;
}

/** The same; empty when there is nothing to restore. */
export async function planRestore(entry: HistoryEntry, options: UndoOptions): Promise<UndoPlan> {
  const { context, isForced } = options;
  const asOf = context.replica.revision;
  const items = entry.items.filter(({ kind }) => !context.catalog.derivedKinds.has(kind));
  // In slices: an entry may have 100,000 documents. The store refuses the plan if somebody changed one meanwhile.
  const steps = await mapInSlices(API_QUEUE, items, (item) => stepOf(item, entry.revision, context));
  const released = new Set(options.released?.map(({ kind, id }) => `${kind} ${id}`));
  const isLost = (step: Step): boolean => isRevoked(step) || released.has(`${step.item.kind} ${step.item.id}`);
  const lost = steps.filter(isLost);
  const undone = steps.filter((step) => !isLost(step));
  if (!isForced) await mapInSlices(API_QUEUE, undone, (step) => refuseLaterChange(step, entry.revision));
  const isBack = await mapInSlices(
    API_QUEUE,
    undone,
    ({ item, current }) => item.before !== null && !isSame(item.before, current),
  );
  const back = undone.filter((_, at) => isBack[at]);
  const away = undone.filter(({ item, current }) => item.before === null && current !== undefined);
  await authorizeSteps([...back, ...away], options);
  if (options.isRevert !== true)
    await mapInSlices(API_QUEUE, back, (step) => refuseConflict(step, entry.revision, context));
  const puts = await mapInSlices(API_QUEUE, back, (step) => putOf(step, asOf, context));
  const goneIds = new Set(away.map(({ item }) => item.id));
  // The store deletes what is below a deleted record.
  const logins = otherLogins(back, new Set([...back, ...away].map(({ item }) => item.id)), context.replica);
  if (logins.enabled.length > 0 && options.isRevert !== true) throw secondLogin(entry.revision, logins.enabled);
  const ended = await mapInSlices(API_QUEUE, [...back, ...away], (step) => endedByStep(step, context));
  const deletes = away
    .filter(({ current }) => !goneIds.has(current?.parent ?? ''))
    .map(deletionOfStep)
    .concat(logins.enabled)
    .concat(ended.flatMap((each) => each.deletes ?? []));
  const endsPeople = ended.flatMap((each) => each.endsPeople ?? []);
  const touches = [...back, ...away].flatMap(touchesOf).filter(({ id }) => !goneIds.has(id));
  const expect = [...back, ...away].map(
    ({ item: { kind, id }, current }): Expectation => ({
      kind,
      id,
      revision: current?.revision ?? 'absent',
    }),
  );
  expect.push(...logins.expect);
  const keepAtLeastOne = [...new Set(away.flatMap(({ owner }) => owner.resource.keepAtLeastOne ?? []))];
  const changed: PlacedWriteSet = { puts, deletes };
  if (options.isRevert !== true && options.isWithdrawal !== true)
    expect.push(...refuseMovedSecrets(changed, { principal: options.principal, isRestored: true }, context));
  const events = await eventsOf([...back, ...away], changed, options);
  return {
    writeSet: { ...changed, expect, touches, keepAtLeastOne, events, endsPeople },
    skipped: lost.map(({ item: { kind, id } }) => ({ kind, id })),
    afterwards: away.flatMap(({ module, owner, current }) => {
      if (module !== null || current === undefined) return [];
      return [async () => owner.resource.afterDelete?.(current, context.ports())];
    }),
  };
}

/**
 * Throws unless the caller may make the change of the entry, as a request for it: confirming makes it for good, and its
 * author must not lose what it needs. Returns what a commit has to expect for that.
 */
export async function authorizeKept(
  entry: HistoryEntry,
  principal: Principal,
  context: DocumentsContext,
): Promise<readonly Expectation[]> {
  const { items, revision } = entry;
  const own = items.filter(({ kind }) => !context.catalog.derivedKinds.has(kind));
  const changeOf = (item: HistoryItem): (Change & { readonly owner: CompiledResource }) | null => {
    const { module, owner } = stepOf(item, revision, context);
    if (module !== null) return null;
    const { kind, id, before, after } = item;
    // As the store has them: this node may not have received the change yet.
    const [config = null, previous = null] = [after, before].map(
      (document) => document && storedFields(owner, { kind, id, revision: 0, ...document }),
    );
    return { owner, principal, id: before === null ? null : id, config, previous };
  };
  for (const item of own) {
    const change = changeOf(item);
    if (change?.owner.resource.authorizeChange === undefined || item.before === null || item.after === null) continue;
    await authorizeChange(change.owner, { ...change, id: item.id }, context);
  }
  await mapInSlices(API_QUEUE, own, (item) => {
    const change = changeOf(item);
    if (change !== null) authorize(change.owner, change, context);
  });
  if (hasMade(entry, principal, context)) return [];
  const puts = own.flatMap(({ kind, id, after }) => after && { kind, id, ...after, uniqueKeys: [], references: [] });
  return refuseMovedSecrets(
    { puts: puts.filter((put) => put !== null) },
    { principal, from: beforeEntry(own, context.replica) },
    context,
  );
}

/** With the rights that it has: then it has shown that it may, and may have sent a secret again that is as before. */
function hasMade({ note, revision }: HistoryEntry, { apiKeyId }: Principal, { replica }: DocumentsContext): boolean {
  const { author } = note;
  const key = replica.get(API_KEY_KIND, apiKeyId);
  return author['kind'] === API_KEY_KIND && author['id'] === apiKeyId && key !== undefined && key.revision <= revision;
}

/** As if the change had not been made. */
function beforeEntry(items: readonly HistoryItem[], replica: RecordReader): RecordReader {
  const earlier = new Map(items.map(({ kind, id, before }) => [`${kind} ${id}`, before]));
  return {
    get: (kind, id) => {
      const before = earlier.get(`${kind} ${id}`);
      return before === undefined
        ? replica.get(kind, id)
        : (before && { kind, id, revision: 0, ...before }) || undefined;
    },
    page: (kind, query) => replica.page(kind, query),
    pageOfParent: (kind, parent, query) => replica.pageOfParent(kind, parent, query),
  };
}

/** Whatever the entry did with it: a secret that does not exist now was revoked. */
function isRevoked({ item, owner, current }: Step): boolean {
  return owner.resource.isNeverRestored === true && item.before !== null && current === undefined;
}

function secondLogin(revision: number, enabled: readonly RecordKey[]): Error {
  const [{ kind, id }] = enabled as [RecordKey];
  return cannotUndo(
    `revision ${revision} cannot be undone: ${ownerIdOf(id)} has the ${kind.split('.')[1]} module by now, and a route has one login: delete or disable that module first`,
  );
}

export function cannotUndo(message: string): Error {
  return documentErrors.create('ERR_POSTERN_CANNOT_UNDO', message);
}

function stepOf(item: HistoryItem, revision: number, context: DocumentsContext): Step {
  const form = documentForm(context.catalog, item.kind);
  if (form === null) {
    throw cannotUndo(
      `revision ${revision} cannot be undone: this version does not know ${item.kind}, which it changed`,
    );
  }
  return { ...form, item, current: currentOf(item, context) };
}

function currentOf({ kind, id }: RecordKey, { replica }: DocumentsContext): StoredRecord | undefined {
  return replica.get(kind, id);
}

function refuseLaterChange({ item, current }: Step, revision: number): void {
  if (isSame(item.after, current) || isSame(item.before, current)) return;
  const { id, kind } = item;
  const module = kind.split('.')[1];
  const what = module === undefined ? ownerIdOf(id) : `the ${module} module of ${ownerIdOf(id)}`;
  throw documentErrors.create(
    'ERR_POSTERN_CHANGED_SINCE',
    `${what} was changed after revision ${revision}: undo the later change first, or send "force": true to restore it anyway`,
    { details: { id: ownerIdOf(id) } },
  );
}

/** By content: a parent that was only touched has another revision. */
function isSame(document: HistoryDocument | null, current: StoredRecord | undefined): boolean {
  if (document === null || current === undefined) return document === null && current === undefined;
  return (
    canonicalJson(document.doc) === canonicalJson(current.doc) &&
    canonicalJson({ ...document.secrets }) === canonicalJson({ ...current.secrets })
  );
}

function putOf({ item, module, owner, current }: Step, asOf: number, { catalog }: DocumentsContext): PlacedPut {
  const { kind, id } = item;
  const { parent, doc, secrets } = item.before as HistoryDocument;
  if (module !== null) {
    return modulePut(
      module,
      { ownerId: ownerIdOf(id), config: joinSecrets(doc, secrets, module.secretFields), at: '' },
      catalog,
    );
  }
  const config = storedFields(owner, { kind, id, parent, revision: 0, doc, secrets });
  const previous = current === undefined ? null : storedFields(owner, current);
  return resourcePut(owner, { id, parent, config, extra: extraOf(owner, doc), previous, asOf }, catalog);
}

function deletionOfStep({ item: { kind, id }, module, owner, current }: Step): RecordDelete {
  if (module !== null || current === undefined) return { kind, id };
  return deletionOf(owner, { id, previous: storedFields(owner, current) });
}

function endedByStep(step: Step, context: DocumentsContext): ReturnType<typeof endedBy> {
  if (step.module !== null) return {};
  return endedBy(step.owner, { id: step.item.id, ...configsOf(step) }, context);
}

/** As requests for these changes would be, so that an undo gives nobody more than that. */
async function authorizeSteps(steps: readonly Step[], { principal, context }: UndoOptions): Promise<void> {
  for (const step of steps) {
    if (step.module !== null || step.owner.resource.authorizeChange === undefined) continue;
    const { config, previous } = configsOf(step);
    if (config === null || previous === null) continue;
    await authorizeChange(step.owner, { principal, id: step.item.id, config, previous }, context);
  }
  await mapInSlices(API_QUEUE, steps, (step) => {
    const { item, module, owner, current } = step;
    if (module !== null) return;
    authorize(owner, { principal, id: current === undefined ? null : item.id, ...configsOf(step) }, context);
  });
}

/** As for a request: something else may have the names by now. */
function refuseConflict(step: Step, revision: number, { settings }: DocumentsContext): void {
  const { config, previous } = configsOf(step);
  if (step.module !== null || config === null) return;
  const conflict = step.owner.resource.conflict?.(config as never, previous as never, settings) ?? null;
  if (conflict !== null) throw cannotUndo(`revision ${revision} cannot be undone: ${conflict}`);
}

function configsOf({ item: { kind, id, before }, owner, current }: Step): Pick<Change, 'config' | 'previous'> {
  return {
    config: before === null ? null : storedFields(owner, { kind, id, revision: 0, ...before }),
    previous: current === undefined ? null : storedFields(owner, current),
  };
}

/** The ETag of a resource changes with the documents that it shows. */
function touchesOf({ item, module, owner, current }: Step): readonly RecordKey[] {
  if (module !== null) return [{ kind: owner.kind, id: ownerIdOf(item.id) }];
  const isNewOrGone = current === undefined || item.before === null;
  return isNewOrGone ? touchedParent(owner, item.before?.parent ?? current?.parent ?? null) : [];
}

async function eventsOf(
  steps: readonly Step[],
  writeSet: PlacedWriteSet,
  { principal, context }: UndoOptions,
): Promise<readonly OutboxEvent[]> {
  const own = new Set(steps.filter(({ module }) => module === null).map(({ item }) => item.id));
  const { replica: reader, events } = context;
  const ofSteps = await mapInSlices(API_QUEUE, steps, ({ item, module, owner, current }) => {
    if (module !== null) {
      const record = own.has(ownerIdOf(item.id)) ? undefined : reader.get(owner.kind, ownerIdOf(item.id));
      return record === undefined ? [] : changeEvent(owner, 'updated', { record, reader, writeSet, principal }, events);
    }
    const restored = item.before && { kind: item.kind, id: item.id, revision: 0, ...item.before };
    const record = restored ?? current;
    if (record === undefined) return [];
    const verb = restored === null ? 'deleted' : current === undefined ? 'created' : 'updated';
    return changeEvent(owner, verb, { record, reader, writeSet, principal }, events);
  });
  return ofSteps.flat();
}
