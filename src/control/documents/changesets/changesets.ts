import type { TObject } from 'typebox';
import { TimeSlice } from '../../../kit/async/slices.ts';
import { KeyedMutex } from '../../../kit/async/turns.ts';
import { PosternError } from '../../../kit/errors.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../kit/json.ts';
import { type BodyDecoder, createDecoder } from '../../../kit/schema/decode-body.ts';
import { PENDING_CHANGE, type PendingChange, pendingChange } from '../../../store/own-records.ts';
import type { CommitResult } from '../../../store/store.ts';
import { refuseWithout } from '../../resources/errors.ts';
import type { OperationRequest, OperationResult, Principal } from '../../resources/operation.ts';
import type { ChangesetsPort } from '../../resources/ports.ts';
import type { ResourcePorts } from '../../resources/registry.ts';
import { canReadSecrets, canWrite, requireScopes, scopesNeeded } from '../../resources/scopes.ts';
import { keyExpectation, rememberedKinds } from '../authorize.ts';
import { noteOf, writtenRecord } from '../commits.ts';
import { pendingForm } from '../confirmation/pending-change.ts';
import { checkIds, withoutAddedFields } from '../decode-write.ts';
import { Documents } from '../documents.ts';
import type { DocumentsContext } from '../documents-context.ts';
import { documentErrors, invalidBody } from '../errors.ts';
import { API_QUEUE, longAnswer } from '../long-answer.ts';
import type { WriteOperations } from '../operations.ts';
import { refusalError } from '../refusal-error.ts';
import { secretRouteKinds } from '../upstream-secrets.ts';
import { claimsOf, type Ownership, ownershipPuts, resolveBody, resolvePath } from './ownership.ts';
import { StagedCommits } from './staged-commits.ts';

type List = readonly JsonValue[];

const ITEMS_PER_STEP = 100;

/** The body of a request by the names of this program. The schema checks its lists in slices. */
function changesetDecoder(schema: TObject): (body: JsonObject) => Promise<Changeset> {
  const decoder = createDecoder(schema);
  const { maxItems = 0 } = schema.properties['operations'] as { maxItems?: number };
  return (body) => decodeChangeset(body, decoder, maxItems);
}

async function decodeChangeset(body: JsonObject, decoder: BodyDecoder, maxItems: number): Promise<Changeset> {
  const operations = listIn(body, 'operations', '/operations', maxItems);
  const claims = isJsonObject(body['owner']) ? listIn(body['owner'], 'claims', '/owner/claims', maxItems) : [];
  // Finds every problem except those in the rest of the two lists.
  const head = decoded(decoder, withFirstItems(body));
  const {
    expected_revision: expectedRevision = null,
    dry_run: isDryRun = false,
    message = '',
    confirm_within: confirmWithin,
  } = head;
  const owner = (head['owner'] ?? null) as JsonObject | null;
  return {
    operations: await inSteps(operations, (items, at) => operationsOf(decoder, items, at)),
    expectedRevision: expectedRevision as number | null,
    isDryRun: isDryRun as boolean,
    message: message as string,
    confirmWithinMs: confirmWithin === undefined ? null : confirmWithinMs(confirmWithin as string),
    ownership: owner && {
      name: owner['name'] as string,
      claims: await inSteps(claims, (items, at) => decodedClaims(decoder, owner, items, at)),
      isTakeOver: owner['take_over'] === true,
    },
  };
}

/** Anything but a list is left to the schema. */
function listIn(object: JsonObject, name: string, path: string, maxItems: number): List {
  const value = object[name];
  if (!Array.isArray(value)) return [];
  if (value.length <= maxItems) return value;
  throw invalidBody([{ path, message: `must not have more than ${maxItems} items` }]);
}

function withFirstItems(body: JsonObject): JsonObject {
  const { operations, owner } = body;
  const first = (list: JsonValue | undefined): JsonValue | undefined =>
    Array.isArray(list) ? list.slice(0, ITEMS_PER_STEP) : list;
  return {
    ...body,
    ...(operations !== undefined && { operations: first(operations) as JsonValue }),
    ...(isJsonObject(owner) &&
      owner['claims'] !== undefined && { owner: { ...owner, claims: first(owner['claims']) as JsonValue } }),
  };
}

async function inSteps<Item>(
  list: List,
  decodeItems: (items: List, at: number) => readonly Item[],
): Promise<readonly Item[]> {
  const all: Item[] = [];
  const slice = new TimeSlice(API_QUEUE);
  for (let at = 0; at < list.length; at += ITEMS_PER_STEP) {
    all.push(...decodeItems(list.slice(at, at + ITEMS_PER_STEP), at));
    if (slice.isOver) await slice.next();
  }
  return all;
}

function operationsOf(decoder: BodyDecoder, items: List, at: number): readonly ChangesetOperation[] {
  const { operations } = decoded(decoder, { operations: items }, '/operations', at);
  const given = operations as unknown as readonly { method: string; path: string; body?: JsonObject | null }[];
  return given.map((operation) => ({ ...operation, body: operation.body ?? {} }));
}

function decodedClaims(decoder: BodyDecoder, owner: JsonObject, items: List, at: number): Ownership['claims'] {
  const body = { operations: [], owner: { ...owner, claims: items } };
  return (decoded(decoder, body, '/owner/claims', at)['owner'] as unknown as Ownership).claims;
}

/** Problems with items of the list at `path` name their place in the whole list, of which `offset` were left out. */
function decoded(decoder: BodyDecoder, body: JsonObject, path = '', offset = 0): JsonObject {
  const result = decoder.decode(body);
  if (result.ok) return result.value;
  throw invalidBody(
    result.problems.map((problem) => {
      const [, index, rest] = /^\/(\d+)(.*)$/s.exec(problem.path.slice(path.length)) ?? [];
      return index === undefined || path === ''
        ? problem
        : { ...problem, path: `${path}/${Number(index) + offset}${rest ?? ''}` };
    }),
  );
}

interface ChangesetOperation {
  readonly method: string;
  readonly path: string;
  readonly body: JsonObject;
}

interface Changeset {
  readonly operations: readonly ChangesetOperation[];
  readonly expectedRevision: number | null;
  readonly isDryRun: boolean;
  readonly message: string;
  /** Null: the change stays without a confirmation. */
  readonly confirmWithinMs: number | null;
  readonly ownership: Ownership | null;
}

interface ChangesetOutcome {
  readonly revision: number;
  readonly results: readonly OperationOutcome[];
  /** The change waits for its confirmation. */
  readonly pending: PendingChange | null;
}

interface OperationOutcome {
  readonly status: number;
  readonly body: JsonObject | null;
  /** In a dry run. Absent for callers that may not read secrets: it would tell whether they guessed one. */
  readonly changed?: boolean;
}

interface Staged {
  readonly commits: StagedCommits;
  readonly results: ChangesetOutcome['results'];
  /** To be done once it is stored. */
  readonly afterwards: readonly (() => Promise<void>)[];
}

/** Other writers may change what a changeset read. */
const MAX_ATTEMPTS = 5;

/** Several writes of the API as one: run one after the other on staged records, then committed as one write set. */
export class Changesets implements ChangesetsPort {
  readonly #context: DocumentsContext;
  readonly #operations: WriteOperations;
  #decode: ReturnType<typeof changesetDecoder> | null = null;

  constructor(context: DocumentsContext, operations: WriteOperations) {
    this.#context = context;
    this.#operations = operations;
  }

  async run(request: OperationRequest, schema: TObject): Promise<OperationResult> {
    this.#decode ??= changesetDecoder(schema);
    const changeset = await this.#decode(request.body);
    if (!canWrite(request.principal) && !isQuestion(changeset)) {
      refuseWithout({
        scope: '*',
        message: 'this API key has no scope for writing: use a key with the scopes of the writes',
      });
    }
    const { revision, results, pending } = await this.#run(changeset, request);
    const body = {
      revision,
      dry_run: changeset.isDryRun,
      results: results as unknown as JsonValue,
      pending: pending && pendingForm(pending, this.#context),
    };
    return { ...(await longAnswer(body, 'results')), ...(!changeset.isDryRun && { revision }) };
  }

  claims(owner: string | null, principal: Principal): JsonObject {
    const { replica: reader, catalog } = this.#context;
    return claimsOf(owner, { reader, catalog, principal });
  }

  async #run(changeset: Changeset, request: OperationRequest): Promise<ChangesetOutcome> {
    for (let tries = 0; tries < MAX_ATTEMPTS; tries += 1) {
      const staged = await this.#stage(changeset, request);
      const result = await this.#commit(changeset, staged.commits, request);
      if (result.ok) {
        // Reads that follow must not be older than the revision that the answer names.
        if (changeset.isDryRun && result.revision > this.#context.replica.revision)
          await this.#context.replica.refresh();
        if (!changeset.isDryRun) {
          await this.#context.served(result.revision);
          for (const task of staged.afterwards) await task();
        }
        return {
          revision: result.revision,
          results: staged.results,
          pending: pendingChange(writtenRecord(result, PENDING_CHANGE)),
        };
      }
      if (result.reason !== 'conflict') throw this.#refused(result, staged.commits);
      await this.#context.replica.refresh();
    }
    throw documentErrors.create(
      'ERR_POSTERN_TOO_MANY_CONFLICTS',
      'other requests kept changing the same resources, and nothing was applied: send the changeset again',
    );
  }

  async #commit(
    { expectedRevision, isDryRun, message, confirmWithinMs, ownership }: Changeset,
    commits: StagedCommits,
    request: OperationRequest,
  ): Promise<CommitResult> {
    const { expect = [], ...writes } = commits.folded();
    const ofKey = await keyExpectation(request, this.#context);
    return this.#context.store.commit({
      ...writes,
      expect: [...expect, ...ofKey],
      ...(expectedRevision !== null && { expectRevision: expectedRevision }),
      ...(isDryRun && { isDryRun }),
      ...(confirmWithinMs !== null && { confirmWithinMs, remembers: this.#remembered() }),
      note: noteOf(request, message, ownership === null ? 'changeset' : 'apply'),
    });
  }

  #remembered(): readonly string[] {
    const { catalog } = this.#context;
    return [...rememberedKinds(catalog), ...secretRouteKinds(catalog)];
  }

  async #stage({ operations, isDryRun, ownership }: Changeset, request: OperationRequest): Promise<Staged> {
    const { replica, catalog, settings } = this.#context;
    const commits = new StagedCommits(replica, catalog, replica.revision + 1);
    const afterwards: (() => Promise<void>)[] = [];
    const documents = this.#documentsOn(commits, (task) => afterwards.push(task));
    const results: OperationOutcome[] = [];
    const showsChanged = isDryRun && canReadSecrets(request.principal);
    const bodies: (JsonObject | null)[] = [];
    const slice = new TimeSlice(API_QUEUE);
    for (const [index, operation] of operations.entries()) {
      commits.begin(index);
      try {
        const { status, result, shownOnce } = await this.#runOne(operation, request, documents, bodies);
        bodies.push(result.body);
        const body = isDryRun ? withoutTokens(result.body, shownOnce) : result.body;
        results.push({ status, body, ...(showsChanged && { changed: commits.hasChanged }) });
      } catch (error) {
        throw ofOperation(error, index);
      }
      if (slice.isOver) await slice.next();
    }
    if (ownership !== null) {
      const { principal } = request;
      const about = { reader: commits.records, catalog, principal, settings };
      const puts = await ownershipPuts(ownership, { results: bodies, ...about });
      for (const put of puts) {
        await commits.commit({ puts: [put] });
        if (slice.isOver) await slice.next();
      }
    }
    return { commits, results, afterwards };
  }

  async #runOne(
    { method, path: given, body }: ChangesetOperation,
    request: OperationRequest,
    documents: Documents,
    bodies: readonly (JsonObject | null)[],
  ): Promise<{ status: number; result: OperationResult; shownOnce: readonly string[] }> {
    const path = resolvePath(given, bodies);
    const found = this.#operations.find(method, path);
    if (found === null) {
      throw invalidBody([
        {
          path: '/path',
          message: `"${method.slice(0, 16)} ${path.slice(0, 200)}" is not a write that a changeset can contain: use POST, PATCH, PUT and DELETE of configuration resources and modules, without a query; send reads and actions on their own`,
        },
      ]);
    }
    const { operation, params } = found;
    requireScopes(request.principal, scopesNeeded(operation));
    checkIds(params);
    const resolved = resolveBody(body, bodies);
    const result = await operation.runOn(documents, {
      ...request,
      params,
      query: {},
      body: operation.body === undefined ? {} : withoutAddedFields(operation.body, resolved, params),
      ifMatch: null,
      ifNoneMatch: null,
      idempotency: null,
    });
    const resource = this.#context.catalog.resources.find(({ name }) => name === operation.resource);
    const shownOnce = resource?.type === 'configuration' ? Object.keys(resource.shownOnce ?? {}) : [];
    return { status: result.status ?? operation.success.status, result, shownOnce };
  }

  #documentsOn(commits: StagedCommits, afterCommit: (task: () => Promise<void>) => void): Documents {
    const context: DocumentsContext = {
      ...this.#context,
      store: {
        commit: (writeSet) => commits.commit(writeSet as never),
        mac: (purpose, data) => this.#context.store.mac(purpose, data),
        findIdempotency: () => Promise.resolve(null),
        history: this.#context.store.history,
      },
      replica: {
        revision: this.#context.replica.revision,
        count: (kind) => this.#context.replica.count(kind),
        get: (kind, id) => commits.records.get(kind, id),
        page: (kind, query) => commits.records.page(kind, query),
        pageOfParent: (kind, parent, query) => commits.records.pageOfParent(kind, parent, query),
        refresh: () => Promise.resolve(),
        keepState: () => ({ missing: () => [], learn: () => {}, at: () => commits.records, end: () => {} }),
      },
      mutex: new KeyedMutex(),
      served: () => null,
      // Not served yet: nothing is known about how it will do.
      problemOf: () => undefined,
      afterCommit: async (task) => afterCommit(task),
      ports: (): ResourcePorts => ({ ...this.#context.ports(), documents }),
    };
    const documents = new Documents(context);
    return documents;
  }

  #refused(given: Extract<CommitResult, { ok: false }>, commits: StagedCommits): Error {
    const refusal = commits.explained(given);
    if (refusal.reason === 'conflict' || refusal.reason === 'idempotency_used') {
      throw new Error(`a changeset cannot be refused as ${refusal.reason}`);
    }
    const error = refusalError(refusal, commits.folded(), this.#context);
    const cause = commits.causeOf(refusal);
    return cause === null ? error : (ofOperation(error, cause) as Error);
  }
}

/** What is the revision? Exports with a key that only reads ask this. */
function isQuestion({ operations, isDryRun, ownership }: Changeset): boolean {
  return isDryRun && operations.length === 0 && ownership === null;
}

/** The same error, with the number of the operation that it belongs to. */
function ofOperation(error: unknown, index: number): unknown {
  if (!(error instanceof PosternError)) return error;
  const { code, status, message, details, headers } = error;
  return new PosternError(code, status, `operation ${index}: ${message}`, {
    details: { ...details, operation: String(index) },
    headers,
    cause: error,
  });
}

/** A dry run creates nothing that would accept its token. */
function withoutTokens(body: JsonObject | null, shownOnce: readonly string[]): JsonObject | null {
  if (body === null || shownOnce.length === 0) return body;
  return { ...body, ...Object.fromEntries(shownOnce.map((name) => [name, null])) };
}

const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000 } as const;
const MAX_MS = 24 * UNIT_MS.h;

/** Milliseconds of a duration such as "90s", "5m" or "1h". Its schema has checked the form. */
function confirmWithinMs(text: string): number {
  const ms = Number(text.slice(0, -1)) * UNIT_MS[text.slice(-1) as keyof typeof UNIT_MS];
  if (ms >= UNIT_MS.s && ms <= MAX_MS) return ms;
  throw invalidBody([{ path: '/confirm_within', message: 'must be from "1s" to "24h"' }]);
}
