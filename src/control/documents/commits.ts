import { pointerTo } from '../../kit/schema/field-problem.ts';
import type { LearnedCommit, StateKeeper } from '../../store/replica/kept-state.ts';
import type { RecordReader } from '../../store/replica/record-table.ts';
import type { Change, ChangeNote, IdempotencyRecord, RecordKey, Store, StoredRecord } from '../../store/store.ts';
import { LOCAL_CALLER, type OperationRequest, type OperationResult } from '../resources/operation.ts';
import type { ReferredReader } from '../resources/resource.ts';
import type { CompiledResource } from './catalog.ts';
import type { DocumentsContext } from './documents-context.ts';
import { documentErrors, invalidBody } from './errors.ts';
import type { PlacedWriteSet } from './record-puts.ts';
import { unknownReference } from './reference-fields.ts';
import { refusalError } from './refusal-error.ts';
import { holdSecretsOfRevert, refuseMovedSecrets } from './upstream-secrets.ts';

/** A writer that loses this many races in a row gets an error instead of waiting longer. */
const MAX_ATTEMPTS = 25;

interface CommitAttempts {
  /** Builds the write set from the replica's state; called again after a conflict. */
  attempt(): PlacedWriteSet;
  /** Where the body names the parent, a missing parent is reported for this field. */
  readonly parentField?: string | null;
  readonly request: OperationRequest;
}

export interface Committed {
  readonly revision: number;
  readonly changes: readonly Change[];
}

/**
 * The record as this write left it; undefined when the write did not change it. The replica may already show what the
 * next writer of the same group commit made of it, or that it was deleted.
 */
export function writtenRecord({ changes }: Committed, { kind, id }: RecordKey): StoredRecord | undefined {
  for (const change of changes) {
    if (change.op === 'put' && change.record.kind === kind && change.record.id === id) return change.record;
  }
  return undefined;
}

/** Commits the result of `attempt`, and retries after a refresh when the replica's state was stale. */
export async function commitWithRetries(context: DocumentsContext, attempts: CommitAttempts): Promise<Committed> {
  const note = noteOf(attempts.request);
  for (let tries = 0; tries < MAX_ATTEMPTS; tries += 1) {
    const writeSet = attempts.attempt();
    refuseTogether(writeSet, context);
    const { unwritten = [], ...written } = writeSet;
    const judged = { ...written, puts: [...(written.puts ?? []), ...unwritten] };
    const held = refuseMovedSecrets(judged, attempts.request, context);
    const expect = [...(written.expect ?? []), ...held, ...holdSecretsOfRevert(judged, context)];
    const concerns = [...(written.concerns ?? []), ...unwritten.map(({ kind, id }) => ({ kind, id }))];
    const result = await context.store.commit({ ...written, expect, concerns, note });
    if (result.ok) {
      // A change is served before its 2xx response.
      await context.served(result.revision);
      return { revision: result.revision, changes: result.changes };
    }
    switch (result.reason) {
      case 'conflict':
        await context.replica.refresh();
        break;
      case 'idempotency_used':
        throw new IdempotencyUsed(result.existing);
      case 'parent_missing':
        if (typeof attempts.parentField === 'string') {
          throw unknownReference(pointerTo('', attempts.parentField), result.parent, [
            context.catalog.kindOfId(result.parent) ?? 'resource',
          ]);
        }
        throw refusalError(result, writeSet, context);
      case 'cycle':
      case 'last_one':
      case 'revision_moved':
      case 'reference_missing':
      case 'still_referenced':
      case 'unique_key_taken':
      case 'change_pending':
      case 'not_settled':
        throw refusalError(result, writeSet, context);
    }
  }
  throw documentErrors.create(
    'ERR_POSTERN_TOO_MANY_CONFLICTS',
    'other requests kept changing this resource, and nothing was applied: send the request again',
  );
}

/** What a record and those that it refers to, directly or not, may not be together. */
function refuseTogether({ puts = [] }: PlacedWriteSet, { catalog, replica }: DocumentsContext): void {
  const written = new Map(puts.map((put) => [put.id, put]));
  const read: ReferredReader = (id) => {
    const kind = catalog.kindOfId(id);
    const doc = kind === null ? undefined : (written.get(id) ?? replica.get(kind, id))?.doc;
    return kind === null || doc === undefined ? null : { kind, doc };
  };
  for (const { kind, id } of puts) {
    const problems = catalog.compiled.get(kind)?.resource.checkReferred?.(id, read) ?? [];
    if (problems.length > 0) throw invalidBody(problems);
  }
}

/** Thrown by a commit whose Idempotency-Key another process has already written. */
class IdempotencyUsed extends Error {
  readonly existing: IdempotencyRecord;

  constructor(existing: IdempotencyRecord) {
    super('the Idempotency-Key was used before');
    this.existing = existing;
  }
}

type Idempotency = NonNullable<OperationRequest['idempotency']>;

/**
 * Executes a create once per Idempotency-Key. The key is written in the create's own transaction. A repeat is answered
 * from the resource's current state, so no response, and no secret in one, is ever stored.
 */
export class IdempotentCreates {
  readonly #store: Pick<Store, 'findIdempotency'>;
  readonly #inFlight = new Set<string>();

  constructor(store: Pick<Store, 'findIdempotency'>) {
    this.#store = store;
  }

  async run(
    idempotency: OperationRequest['idempotency'],
    create: () => Promise<OperationResult>,
    /** The response for the resource that the first request created; null when it cannot be repeated. */
    replay: (id: string) => Promise<OperationResult | null>,
  ): Promise<OperationResult> {
    if (idempotency === null) return create();
    if (this.#inFlight.has(idempotency.scope)) {
      throw documentErrors.create(
        'ERR_POSTERN_IDEMPOTENCY_IN_FLIGHT',
        'the first request with this Idempotency-Key is still in progress: wait for its response',
        { headers: { 'retry-after': '1' } },
      );
    }
    this.#inFlight.add(idempotency.scope);
    try {
      const existing = await this.#store.findIdempotency(idempotency.scope);
      if (existing !== null) return await this.#replay(existing, idempotency, replay);
      return await create();
    } catch (error) {
      if (error instanceof IdempotencyUsed) return await this.#replay(error.existing, idempotency, replay);
      throw error;
    } finally {
      this.#inFlight.delete(idempotency.scope);
    }
  }

  async #replay(
    existing: IdempotencyRecord,
    idempotency: Idempotency,
    replay: (id: string) => Promise<OperationResult | null>,
  ): Promise<OperationResult> {
    if (existing.bodyHash !== idempotency.bodyHash) {
      throw documentErrors.create(
        'ERR_POSTERN_IDEMPOTENCY_MISMATCH',
        'this Idempotency-Key was used with another body: use a new key for a new request',
        { details: { id: existing.id } },
      );
    }
    const answer = await replay(existing.id);
    if (answer !== null) return answer;
    throw documentErrors.create(
      'ERR_POSTERN_IDEMPOTENCY_REPLAY',
      `the request with this Idempotency-Key already created ${existing.id}, and its response cannot be repeated: it contained a secret, or the resource was deleted`,
      { details: { id: existing.id } },
    );
  }
}

/** Who makes a change, for the history. `via` names what made it, if not a single write. */
export function noteOf(
  request: OperationRequest,
  message = '',
  via: 'api' | 'changeset' | 'apply' | 'undo' | 'confirm' | 'revert' = 'api',
): ChangeNote {
  const { apiKeyId, person, identity } = request.principal;
  return {
    author: {
      kind: person !== undefined ? 'person' : kindOfCaller(apiKeyId),
      id: person ?? apiKeyId,
      ...(identity !== undefined && { issuer: identity.issuer, subject: identity.subject }),
      address: request.address ?? null,
      operation_id: request.operationId,
      via,
    },
    message,
  };
}

function kindOfCaller(id: string): 'server' | 'local' | 'api_key' {
  if (id === '') return 'server';
  return id.startsWith(LOCAL_CALLER) ? 'local' : 'api_key';
}

/**
 * Writes, and answers from the state that the write's own commit left. A resource with modules or inline children shows
 * several documents, and others may have written to some of them before the answer is rendered: in the same group
 * commit, or in another process.
 */
export async function answerWrite<Written extends { readonly revision: number }>(
  { modules, inlineChildren }: CompiledResource,
  { replica, store }: Pick<DocumentsContext, 'replica' | 'store'>,
  write: () => Promise<Written>,
  answer: (written: Written, reader: RecordReader) => Promise<OperationResult>,
): Promise<OperationResult> {
  const kept = modules.length + inlineChildren.length === 0 ? null : replica.keepState();
  try {
    const written = await write();
    const reader = kept === null ? replica : await stateAt(written.revision, kept, { replica, store });
    return { ...(await answer(written, reader)), revision: written.revision };
  } finally {
    kept?.end();
  }
}

/** The feed shows a commit of another process as later ones left it. The history has its documents. */
async function stateAt(
  revision: number,
  kept: StateKeeper,
  { replica, store }: Pick<DocumentsContext, 'replica' | 'store'>,
): Promise<RecordReader> {
  const missing = kept.missing(revision);
  if (missing === null) return replica;
  if (missing.length > 0) kept.learn(await Promise.all(missing.map((each) => commitOf(each, store))));
  return kept.at(revision);
}

async function commitOf(revision: number, { history }: DocumentsContext['store']): Promise<LearnedCommit> {
  const entry = await history.get(revision);
  const changes = (entry?.items ?? []).map(({ kind, id, after }): Change => {
    return after === null
      ? { op: 'delete', key: { kind, id }, revision }
      : { op: 'put', record: { kind, id, revision, ...after } };
  });
  return { revision, changes };
}
