import Type, { type TObject } from 'typebox';
import type { JsonObject } from '../lib/json.ts';
import { createDecoder } from '../lib/schema/decode-body.ts';
import type { FieldProblem } from '../lib/schema/field-problem.ts';
import { createForm } from '../lib/schema/wire-forms.ts';
import { parseRfc3339 } from '../lib/text/rfc3339-time.ts';
import type { Module } from '../modules/contract/module.ts';
import type { Asked, ModuleQuestion, QuestionPorts } from '../modules/contract/module-question.ts';
import { learnedClaims } from '../modules/learned-claims.ts';
import { loginPages, recentLogins } from '../modules/login-pages.ts';
import { storedPathReader } from '../modules/path-reader.ts';
import { resourceErrors } from '../resources/errors.ts';
import type { Operation, OperationRequest, OperationResult } from '../resources/operation.ts';
import type { ResourceSettings } from '../resources/resource.ts';
import type { ReadingPorts, SharedPorts } from '../resources/shared-ports.ts';
import type { Store } from '../store/store.ts';
import type { CompiledModule } from './compiled.ts';
import { decodeInlineModule } from './decode-write.ts';
import { invalidBody } from './errors.ts';
import type { RouteLogins } from './route-logins.ts';
import { scopesNeeded } from './scopes.ts';

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
export interface DecodedQuestion {
  readonly fields: JsonObject;
  /** Null: the question is about the stored configuration. */
  readonly proposed: JsonObject | null;
}

/** Decodes the whole body, and throws all problems at once. */
export function decodeQuestion(
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

export async function answerQuestion(question: ModuleQuestion, asked: Asked, ports: AnswerPorts): Promise<JsonObject> {
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
