import Type, { type TObject } from 'typebox';
import type { JsonObject } from '../lib/json.ts';
import { parseRfc3339 } from '../lib/rfc3339-time.ts';
import { createDecoder } from '../lib/schema/decode-body.ts';
import type { FieldProblem } from '../lib/schema/field-problem.ts';
import { createForm } from '../lib/schema/wire-forms.ts';
import type { Asked, ModuleQuestion, QuestionPorts } from '../modules/module-question.ts';
import { resourceErrors } from '../resources/errors.ts';
import type { Operation, OperationPorts, OperationRequest, OperationResult } from '../resources/operation.ts';
import type { LoginSession } from '../store/store.ts';
import type { CompiledModule } from './compiled.ts';
import { invalidBody } from './errors.ts';
import { scopesNeeded } from './scopes.ts';

const SESSIONS_PER_PAGE = 500;
const NO_FIELDS = Type.Object({});

type Answer = (request: OperationRequest, ports: OperationPorts) => Promise<OperationResult>;

/** A question about a module as an operation of the API. It changes nothing, so the scope of reading suffices. */
export function questionOperation(
  { resource, path }: Pick<Operation, 'resource' | 'path'>,
  compiled: CompiledModule,
  question: ModuleQuestion,
  run: Answer,
): Operation {
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
    errors: ['ERR_POSTERN_NOT_FOUND', ...(method === 'POST' ? (['ERR_POSTERN_INVALID_BODY'] as const) : [])],
    scopes: [...scopesNeeded({ method: 'GET', path }), ...alsoReads],
    run,
  };
}

export async function answerQuestion(
  compiled: CompiledModule,
  question: ModuleQuestion,
  about: Pick<Asked, 'config' | 'place'>,
  request: OperationRequest,
  ports: OperationPorts,
): Promise<JsonObject> {
  const { name } = compiled.module;
  const fields = question.method === 'GET' ? {} : decodeFields(name, question, request.body);
  const answer = await question.answer({ ...about, fields, query: request.query }, questionPorts(ports));
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

function decodeFields(
  module: string,
  { fields = NO_FIELDS, needsProposal }: ModuleQuestion,
  body: JsonObject,
): JsonObject {
  const { [module]: proposal, ...others } = body;
  if (needsProposal === true && (proposal === undefined || proposal === null)) {
    throw invalidBody([{ path: `/${module}`, message: 'is required: the configuration to answer for' }]);
  }
  if (proposal !== undefined && proposal !== null && (typeof proposal !== 'object' || Array.isArray(proposal))) {
    throw invalidBody([{ path: `/${module}`, message: 'must be an object: a configuration of the module' }]);
  }
  const decoded = createDecoder(fields, [module]).decode(others);
  if (!decoded.ok) throw invalidBody(decoded.problems);
  return decoded.value;
}

function questionPorts({ clock, documents, store, ref }: OperationPorts): QuestionPorts {
  const nowMs = clock.nowMs();
  return {
    nowMs,
    record: (kind, id) => documents.reader.get(kind, id)?.doc,
    ref: (id) => ({ ...ref(id) }),
    time: parsedTime,
    async *sessions(): AsyncIterable<readonly LoginSession[]> {
      let beforeId: string | null = null;
      for (;;) {
        const page: readonly LoginSession[] = await store.logins.listSessions({
          beforeId,
          limit: SESSIONS_PER_PAGE,
          nowMs,
        });
        yield page;
        if (page.length < SESSIONS_PER_PAGE) return;
        beforeId = page.at(-1)?.id ?? null;
      }
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
