import type { TObject } from 'typebox';
import Type from 'typebox';
import type { JsonObject } from '../../kit/json.ts';
import { createDecoder } from '../../kit/schema/decode-body.ts';
import type { FieldProblem } from '../../kit/schema/field-problem.ts';
import { createForm } from '../../kit/schema/wire-forms.ts';
import { withDefaults } from '../../kit/schema/with-defaults.ts';
import { parseRfc3339 } from '../../kit/text/time.ts';
import type { Asked, Module, ModuleQuestion, QuestionPorts } from '../../modules/contract/module.ts';
import type { PreparePorts } from '../../modules/contract/prepare.ts';
import { learnedClaims, loginPages, recentLogins } from '../../modules/learned-claims.ts';
import { storedPathReader } from '../../modules/module-config.ts';
import type { Expectation, Store, StoredRecord, WriteSet } from '../../store/store.ts';
import { resourceErrors } from '../resources/errors.ts';
import type { Operation, OperationRequest, OperationResult, Principal } from '../resources/operation.ts';
import type { ReadingPorts, SharedPorts } from '../resources/ports.ts';
import type { ResourceSettings } from '../resources/resource.ts';
import { canReadSecrets, scopesNeeded, type View, viewOf } from '../resources/scopes.ts';
import type { CompiledModule, CompiledResource } from './catalog.ts';
import { changeEvent, isChangeWanted } from './change-events.ts';
import { commitWithRetries, writtenRecord } from './commits.ts';
import { decodeInlineModule, decodeModule, expectModuleMatch, sealedConfig, withProblem } from './decode-write.ts';
import type { DocumentsContext } from './documents-context.ts';
import { invalidBody } from './errors.ts';
import {
  isUnchanged,
  type ModuleParts,
  modulePut,
  type PlacedPut,
  type PlacedWriteSet,
  storedConfig,
} from './record-puts.ts';
import { requireUnder } from './refusal-error.ts';
import { moduleRecord, RenderedCache } from './renderer.ts';
import { expectNoOtherLogin, type RouteLogins } from './route-logins.ts';
import { keepUnseenSecrets, sentSecretsIn } from './secret-fields.ts';

const NO_FIELDS = Type.Object({});

/** Ports from which the answers are made. */
export interface AnswerPorts extends ReadingPorts, Pick<SharedPorts, 'clock' | 'ref'> {
  readonly store: Pick<Store, 'logins'>;
  readonly learningClient: RouteLogins;
  readonly modules: readonly Module[];
}

type Answer = (request: OperationRequest, ports: AnswerPorts) => Promise<OperationResult>;

/** A question about a module as an operation of the API. It changes nothing, so the scope of reading suffices. */
export function questionOperation(
  { resource, path }: Pick<Operation, 'resource' | 'path'>,
  compiled: CompiledModule,
  question: ModuleQuestion,
  run: Answer,
): Operation<AnswerPorts> {
  const { verb, method, summary, description, query, result, alsoReads = [] } = question;
  return {
    resource,
    verb,
    method,
    path: `${path}/${question.path}`,
    summary,
    description,
    ...(query !== undefined && { query }),
    ...(method === 'POST' && {
      body: { schema: bodySchema(compiled, question), example: question.example ?? {}, isDecodedByOperation: true },
    }),
    success: { status: 200, schema: result, description: 'The result.' },
    errors: [
      'ERR_POSTERN_NOT_FOUND',
      ...(method === 'POST' ? (['ERR_POSTERN_INVALID_BODY'] as const) : []),
      ...(query === undefined ? [] : (['ERR_POSTERN_INVALID_TIME'] as const)),
    ],
    scopes: [...scopesNeeded({ method: 'GET', path }), ...alsoReads],
    run,
  };
}

/** What a question says, apart from the module that it is about. */
interface DecodedQuestion {
  readonly fields: JsonObject;
  /** Null: the question is about the stored configuration. */
  readonly proposed: JsonObject | null;
}

/** Decodes the whole body, and throws all problems at once. */
function decodeQuestion(
  compiled: CompiledModule,
  { method, fields = NO_FIELDS, needsProposal }: ModuleQuestion,
  body: JsonObject,
  settings: ResourceSettings,
): DecodedQuestion {
  if (method === 'GET') return { fields: {}, proposed: null };
  const { name } = compiled.module;
  const { [name]: proposal = null, ...others } = body;
  const problems: FieldProblem[] = [];
  if (proposal === null && needsProposal === true) {
    problems.push({ path: `/${name}`, message: 'is required. It is the configuration to answer for' });
  }
  const proposed = proposal === null ? null : decodeInlineModule(compiled, proposal, settings);
  if (Array.isArray(proposed)) problems.push(...proposed);
  const decoded = createDecoder(fields, [name]).decode(others);
  if (!decoded.ok) problems.push(...decoded.problems);
  if (problems.length > 0 || !decoded.ok) throw invalidBody(problems);
  return { fields: decoded.value, proposed: proposed as JsonObject | null };
}

async function answerQuestion(question: ModuleQuestion, asked: Asked, ports: AnswerPorts): Promise<JsonObject> {
  const answer = await question.answer(asked, questionPorts(ports));
  if ('problems' in answer) throw invalidBody(answer['problems'] as readonly FieldProblem[]);
  return answer;
}

function bodySchema(
  { module, create }: CompiledModule,
  { fields = NO_FIELDS, needsProposal }: ModuleQuestion,
): TObject {
  const description = `A proposed configuration of the module, in place of the stored one.`;
  const proposal = { ...create.form, description };
  return Type.Object(
    { ...createForm(fields).properties, [module.name]: needsProposal === true ? proposal : Type.Optional(proposal) },
    { additionalProperties: false },
  );
}

function questionPorts({ clock, documents, store, ref, learningClient, modules }: AnswerPorts): QuestionPorts {
  const nowMs = clock.nowMs();
  return {
    nowMs,
    record: (kind, id) => documents.reader.get(kind, id)?.doc,
    pathReader: (place) => storedPathReader(modules, place, (kind, id) => documents.reader.get(kind, id)?.doc),
    ref: (id) => ({ ...ref(id) }),
    time: parsedTime,
    sessions: () => loginPages(store.logins, nowMs),
    learnedClaims: async ({ edgeId, routeId }, asked) => {
      const client = learningClient({ edgeId, routeId }, asked);
      if (client === null) return null;
      return learnedClaims(client, (await recentLogins(store.logins, [edgeId], nowMs))?.get(edgeId) ?? []);
    },
  };
}

function parsedTime(parameter: string, text: string): number {
  const ms = parseRfc3339(text);
  if (ms !== null) return ms;
  throw resourceErrors.create(
    'ERR_POSTERN_INVALID_TIME',
    `${parameter} must be a time such as "2026-11-01T00:00:00Z" (RFC 3339)`,
    { details: { field: parameter } },
  );
}

/** The module, and the edge or route, that a request addresses. */
export interface ModuleAddress {
  readonly compiled: CompiledResource;
  readonly module: CompiledModule;
  readonly id: string;
  /** The edge named in the path, for a route's module. */
  readonly parentId: string | null;
}

interface ModuleChange {
  readonly puts: readonly PlacedPut[];
  readonly unwritten: readonly PlacedPut[];
  readonly expect: readonly Expectation[];
}

/** Replace, get and delete of modules, each stored as its own record below its owner's. */
export class ModuleDocuments {
  readonly #context: DocumentsContext;
  readonly #rendered = new RenderedCache();

  constructor(context: DocumentsContext) {
    this.#context = context;
  }

  put(address: ModuleAddress, request: OperationRequest): Promise<OperationResult> {
    const { compiled, module, id, parentId } = address;
    const config = decodeModule(module, request.body, this.#context.settings);
    let unchanged: StoredRecord | undefined;
    const attempt = (): PlacedWriteSet => {
      const owner = requireUnder(this.#context, compiled, id, parentId);
      const current = moduleRecord(module, id, this.#context.replica);
      unchanged = current;
      const matched = expectModuleMatch(request, module.keyOn(id), current);
      const { puts, unwritten, expect } = this.change(module, { ownerId: id, config, at: '' }, request.principal);
      const events = puts.length === 0 ? [] : this.#updated(compiled, owner, { puts }, request);
      return { expect: [...matched, ...expect], puts, unwritten, events };
    };
    return this.#takingTurnsIfObserved(compiled, id, async () => {
      const committed = await commitWithRetries(this.#context, { attempt, request });
      // A write that changed nothing expected the record to be as it was.
      const written = writtenRecord(committed, module.keyOn(id)) ?? unchanged;
      if (written === undefined) throw new Error(`the commit of ${module.keyOn(id).id} did not write it`);
      return { ...this.#answer(address, written, request.principal), revision: committed.revision };
    });
  }

  get(address: ModuleAddress, principal: Principal): OperationResult {
    const { compiled, module, id, parentId } = address;
    requireUnder(this.#context, compiled, id, parentId);
    const record = moduleRecord(module, id, this.#context.replica);
    if (record !== undefined) return this.#answer(address, record, principal);
    return this.#unset(module, id);
  }

  delete({ compiled, module, id, parentId }: ModuleAddress, request: OperationRequest): Promise<OperationResult> {
    const attempt = (): PlacedWriteSet => {
      const owner = requireUnder(this.#context, compiled, id, parentId);
      const current = moduleRecord(module, id, this.#context.replica);
      const expect = expectModuleMatch(request, module.keyOn(id), current);
      if (current === undefined) return { expect: [{ ...module.keyOn(id), revision: 'absent' }] };
      const deletes = [module.keyOn(id)];
      const events = this.#updated(compiled, owner, { deletes }, request);
      // The owner's ETag must change although the document that determined it is gone.
      return { expect, deletes, touches: [{ kind: compiled.kind, id }], events };
    };
    return this.#takingTurnsIfObserved(compiled, id, async () => {
      const { revision } = await commitWithRetries(this.#context, { attempt, request });
      return { body: null, revision };
    });
  }

  /** Answers a question about the stored configuration, or about the one that the body proposes. */
  async ask(
    address: ModuleAddress,
    question: ModuleQuestion,
    request: OperationRequest,
    ports: AnswerPorts,
  ): Promise<OperationResult> {
    const { compiled, module, id, parentId } = address;
    requireUnder(this.#context, compiled, id, parentId);
    const { proposed, fields } = decodeQuestion(module, question, request.body, this.#context.settings);
    const stored = moduleRecord(module, id, this.#context.replica)?.doc;
    const config = proposed ?? (stored && withDefaults(module.config, stored)) ?? this.#unset(module, id);
    const asked = { config, place: { edgeId: parentId ?? '', routeId: id }, fields, query: request.query };
    return { body: await answerQuestion(question, asked, ports) };
  }

  #unset({ module: { name } }: CompiledModule, id: string): never {
    throw resourceErrors.create(
      'ERR_POSTERN_NOT_FOUND',
      `the ${name} module is not set on ${id}: set it with PUT …/${name}`,
      { details: { id, module: name } },
    );
  }

  /** The writes that set the module; none when it is already set. Lists what must not change in the meantime. */
  change(module: CompiledModule, parts: ModuleParts, principal: Principal): ModuleChange {
    const current = moduleRecord(module, parts.ownerId, this.#context.replica);
    const previous = current === undefined ? null : storedConfig(module, current);
    const isBlind = module.secretFields.length > 0 && !canReadSecrets(principal);
    const kept = keepUnseenSecrets(parts.config, previous, module.secretFields, { canReadSecrets: !isBlind });
    const next = sealedConfig(module, { ...parts, config: kept }, previous);
    const asSeen: Expectation = { ...module.keyOn(parts.ownerId), revision: current?.revision ?? 'absent' };
    // Both ways: a field that is left out may have been set.
    const sentSecrets = isBlind ? sentSecretsIn(parts.config, module.secretFields) : [];
    const putOf = (): PlacedPut => ({
      ...modulePut(module, { ...parts, config: next }, this.#context.catalog),
      sentSecrets,
    });
    const isSame = previous !== null && isUnchanged(next, previous) && isUnchanged(previous, next);
    if (isSame) return { puts: [], unwritten: sentSecrets.length > 0 ? [putOf()] : [], expect: [asSeen] };
    const others = expectNoOtherLogin(module, parts, this.#context);
    // A secret hidden from the caller was taken from the stored record, which must still be current.
    const isKept = isBlind || module.module.seal !== undefined;
    return { puts: [putOf()], unwritten: [], expect: [...others, ...(isKept ? [asSeen] : [])] };
  }

  #answer(address: ModuleAddress, record: StoredRecord, principal: Principal): OperationResult {
    const { module } = address;
    const render = (view: View): JsonObject => this.#context.renderer.module(module, record, view);
    const { body, text } = this.#rendered.of(record, viewOf(principal), render);
    const { live } = module.module;
    if (live === undefined) return withProblem({ body, text, etag: record.revision }, record.id, this.#context);
    const fields = live.read(record.doc, placeOf(address), this.#context.moduleState(module.module.name));
    const whole = { body: { ...body, ...fields }, etag: record.revision, hasLiveFields: true };
    return withProblem(whole, record.id, this.#context);
  }

  #updated(
    compiled: CompiledResource,
    record: StoredRecord,
    writeSet: WriteSet,
    { principal }: OperationRequest,
  ): WriteSet['events'] & object {
    return changeEvent(
      compiled,
      'updated',
      { record, reader: this.#context.replica, writeSet, principal },
      this.#context.events,
    );
  }

  /**
   * An event shows the whole route or edge. Two concurrent module writes would each show it without the other, so they
   * are serialized, but only while a subscription wants the event: otherwise they share a commit.
   */
  #takingTurnsIfObserved<Result>(compiled: CompiledResource, id: string, task: () => Promise<Result>): Promise<Result> {
    return isChangeWanted(compiled, 'updated', this.#context.events) ? this.#context.mutex.run(id, task) : task();
  }
}

function placeOf({ compiled: { kind }, id, parentId }: ModuleAddress): PreparePorts['place'] {
  return parentId === null ? { kind, edgeId: id, routeId: null } : { kind, edgeId: parentId, routeId: id };
}
