import Type, { type TObject } from 'typebox';
import { readForm } from '../lib/schema/wire-forms.ts';
import type { Operation, OperationRequest } from '../resources/operation.ts';
import { writing } from './changesets/write-operation.ts';
import type { CompiledModule, CompiledResource } from './compiled.ts';
import type { Documents } from './documents.ts';
import type { ModuleAddress } from './module-documents.ts';
import { type AnswerPorts, questionOperation } from './module-questions.ts';

/** What the operations of every module do. */
export const MODULE_RULES = {
  replace: 'An omitted field is reset to its default.',
  get: 'Returns 404 if the module is not set.',
  delete: 'Succeeds without effect if the module is not set.',
} as const;

/** Replace, get and delete of a module, on one fixed path below its edge or route. */
export function moduleOperations(
  compiled: CompiledResource,
  compiledModule: CompiledModule,
  documents: Documents,
): readonly Operation<AnswerPorts>[] {
  const { module } = compiledModule;
  const link = compiled.resource.parent;
  const addressOf = (request: OperationRequest): ModuleAddress => ({
    compiled,
    module: compiledModule,
    id: request.params['id'] as string,
    parentId: link !== undefined && 'param' in link ? (request.params[link.param] as string) : null,
  });
  const shared = {
    resource: `${compiled.resource.name}.${module.name}`,
    path: `${compiled.resource.path}/{id}/${module.name}`,
  };
  const success = { status: 200, schema: moduleReadSchema(compiledModule), description: `The ${module.title}.` };
  return [
    {
      ...shared,
      verb: 'replace',
      method: 'PUT',
      summary: `Replace the ${module.title}`,
      description: `${module.description} ${MODULE_RULES.replace}`,
      body: {
        schema: compiledModule.create.form,
        example: module.example,
        canBeWrapped: true,
        isDecodedByOperation: true,
      },
      success,
      errors: [
        'ERR_POSTERN_NOT_FOUND',
        'ERR_POSTERN_INVALID_BODY',
        'ERR_POSTERN_UNKNOWN_REFERENCE',
        'ERR_POSTERN_PRECONDITION_FAILED',
        'ERR_POSTERN_CHANGE_PENDING',
      ],
      isConditional: true,
      ...writing(documents, (on, request) => on.modules.put(addressOf(request), request)),
    },
    {
      ...shared,
      verb: 'get',
      method: 'GET',
      summary: `Get the ${module.title}`,
      description: `${module.description} ${MODULE_RULES.get}`,
      success,
      errors: ['ERR_POSTERN_NOT_FOUND'],
      run: (request) => documents.modules.get(addressOf(request), request.principal),
    },
    {
      ...shared,
      verb: 'delete',
      method: 'DELETE',
      summary: `Delete the ${module.title}`,
      description: MODULE_RULES.delete,
      success: { status: 204, schema: null, description: 'The module is not set.' },
      errors: ['ERR_POSTERN_NOT_FOUND', 'ERR_POSTERN_PRECONDITION_FAILED', 'ERR_POSTERN_CHANGE_PENDING'],
      isConditional: true,
      ...writing(documents, (on, request) => on.modules.delete(addressOf(request), request)),
    },
    ...(module.questions ?? []).map((question) =>
      questionOperation(shared, compiledModule, question, (request, ports) =>
        documents.modules.ask(addressOf(request), question, request, ports),
      ),
    ),
  ];
}

export function moduleReadSchema(compiledModule: CompiledModule): TObject {
  const { module } = compiledModule;
  return Type.Object({ ...readForm(module.config).properties, ...module.constants?.schema, ...module.live?.schema });
}
