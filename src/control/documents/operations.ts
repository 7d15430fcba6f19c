import type { TObject, TProperties } from 'typebox';
import Type from 'typebox';
import type { ErrorCode } from '../../kit/errors.ts';
import { readForm } from '../../kit/schema/wire-forms.ts';
import { LIST_DESCRIPTION, listEnvelope } from '../resources/live-operations.ts';
import type { Operation, OperationRequest, OperationResult } from '../resources/operation.ts';
import { nextPageUri, pageOf, pagingQuery } from '../resources/paging.ts';
import type { SharedPorts } from '../resources/ports.ts';
import type { ResourcePorts } from '../resources/registry.ts';
import { timestamp } from '../resources/resource.ts';
import { hasScope, scopeOf } from '../resources/scopes.ts';
import type { Catalog, CompiledModule, CompiledResource } from './catalog.ts';
import type { Documents, ResourceAddress } from './documents.ts';
import { COUNT_HEADER, filteredList, type TextsForCaller, trafficFigures } from './filters/filtered-list.ts';
import { type AnswerPorts, type ModuleAddress, questionOperation } from './module-documents.ts';
import { searchedTexts } from './search.ts';

/** Lists name their pages by `uri`; filters compare with `clock`. */
type ListPorts = Pick<SharedPorts, 'uri' | 'clock'>;

/** Everything that the operations use: those of the resources, and those that are built here. */
export type OperationPorts = ResourcePorts & AnswerPorts & ListPorts;

/** Every operation of the API, built from the registries. */
export function operationsOf(catalog: Catalog, documents: Documents): readonly Operation<OperationPorts>[] {
  const all = catalog.resources.flatMap((resource): readonly Operation<OperationPorts>[] => {
    if (resource.type === 'live') return resource.operations;
    const compiled = catalog.compiled.get(resource.kind) as CompiledResource;
    return [
      ...resourceOperations(compiled, documents),
      ...(resource.actions ?? []),
      ...compiled.modules.flatMap((module) => moduleOperations(compiled, module, documents)),
    ];
  });
  const textsFor = textsOfReferences(catalog, documents);
  const counted = new Set(
    catalog.resources.flatMap((each) => (each.type === 'configuration' && each.hasTraffic === true ? [each.name] : [])),
  );
  return all.map((operation) => {
    if (operation.verb !== 'list') return operation;
    return filteredList(operation, textsFor, counted.has(operation.resource) ? trafficFigures : null);
  });
}

/**
 * What a list is searched by beside its own texts: those of the resources that it names, as far as the caller may read
 * them.
 */
function textsOfReferences(catalog: Catalog, documents: Documents): TextsForCaller {
  return ({ principal }) =>
    (id) => {
      const compiled = catalog.compiled.get(catalog.kindOfId(id) ?? '');
      if (compiled === undefined || !hasScope(principal, scopeOf('GET', compiled.resource.path))) return [];
      const record = documents.reader.get(compiled.kind, id);
      return record === undefined ? [] : searchedTexts(record, documents.reader).map(({ text }) => text);
    };
}

function resourceOperations(compiled: CompiledResource, documents: Documents): readonly Operation<ListPorts>[] {
  const { resource } = compiled;
  const parentOf = (request: OperationRequest): string | null => {
    const link = resource.parent;
    return link !== undefined && 'param' in link ? (request.params[link.param] as string) : null;
  };
  const addressOf = (request: OperationRequest): ResourceAddress => ({
    compiled,
    id: request.params['id'] as string,
    parentId: parentOf(request),
  });
  const read = readSchema(compiled);
  const shared = { resource: resource.name };
  const item = `${resource.path}/{id}`;
  return [
    {
      ...shared,
      verb: 'create',
      method: 'POST',
      path: resource.path,
      summary: `Create ${resource.title}`,
      description: resource.description,
      body: { schema: writeSchema(compiled, 'create'), example: resource.example, isDecodedByOperation: true },
      success: { status: 201, schema: createdSchema(compiled, read), description: `${capitalized(resource.title)}.` },
      errors: [...WRITE_ERRORS, ...IDEMPOTENCY_ERRORS],
      isIdempotentByKey: true,
      ...writing(documents, (on, request) => on.create(compiled, request, parentOf(request))),
    },
    {
      ...shared,
      verb: 'list',
      method: 'GET',
      path: resource.path,
      summary: `List ${plural(resource.title)}`,
      description: LIST_DESCRIPTION,
      query: Type.Object(pagingQuery(resource.idPrefix), { additionalProperties: false }),
      success: { status: 200, schema: listEnvelope(resource.listKey, read), description: 'A page, newest first.' },
      errors: ['ERR_POSTERN_INVALID_QUERY'],
      run: async (request, ports) => {
        const parent = parentOf(request);
        if (parent !== null && resource.parent !== undefined) documents.require(resource.parent.kind, parent);
        const page = pageOf(request.query);
        const { items, lastId, hasMore } = await documents.list(compiled, request.principal, page, parent);
        const uri = ports.uri(parent === null ? resource.path : resource.path.replace(/\{[^}]+\}/, parent));
        const next = hasMore ? nextPageUri(uri, request.query, page.limit, lastId) : null;
        const headers = parent === null ? { [COUNT_HEADER]: String(documents.count(resource.kind)) } : {};
        return { body: { [resource.listKey]: items, uri, next_page_uri: next }, headers };
      },
    },
    {
      ...shared,
      verb: 'get',
      method: 'GET',
      path: item,
      summary: `Get ${resource.title}`,
      description: resource.description,
      success: { status: 200, schema: read, description: `${capitalized(resource.title)}.` },
      errors: ['ERR_POSTERN_NOT_FOUND'],
      run: (request) => documents.get(addressOf(request), request.principal),
    },
    {
      ...shared,
      verb: 'update',
      method: 'PATCH',
      path: item,
      summary: `Update ${resource.title}`,
      description: UPDATE_RULE,
      body: { schema: writeSchema(compiled, 'patch'), example: { description: 'changed' }, isDecodedByOperation: true },
      success: { status: 200, schema: read, description: `The updated resource.` },
      errors: ['ERR_POSTERN_NOT_FOUND', ...WRITE_ERRORS, ...CONDITION_ERRORS],
      isConditional: true,
      ...writing(documents, (on, request) => on.patch(addressOf(request), request)),
    },
    {
      ...shared,
      verb: 'delete',
      method: 'DELETE',
      path: item,
      summary: `Delete ${resource.title}`,
      description: DELETE_RULE,
      success: { status: 204, schema: null, description: 'The resource is deleted.' },
      errors: ['ERR_POSTERN_NOT_FOUND', 'ERR_POSTERN_IN_USE', 'ERR_POSTERN_CHANGE_PENDING', ...CONDITION_ERRORS],
      isConditional: true,
      ...writing(documents, (on, request) => on.delete(addressOf(request), request)),
    },
  ];
}

/** What every update does. */
/** What the field of a module says in a document that has none. */
export const UNSET_MODULE = 'Null if not set.';

export const UPDATE_RULE =
  'Changes only the fields in the request; null counts as absent. A module in the request is replaced as a whole. DELETE of the module removes it.';

/** What every deletion of a resource does. */
export const DELETE_RULE = 'Returns 409 if other resources refer to it; details.referred_by names them.';

const WRITE_ERRORS: readonly ErrorCode[] = [
  'ERR_POSTERN_INVALID_BODY',
  'ERR_POSTERN_UNKNOWN_REFERENCE',
  'ERR_POSTERN_ALREADY_EXISTS',
  'ERR_POSTERN_CHANGE_PENDING',
];
const CONDITION_ERRORS: readonly ErrorCode[] = ['ERR_POSTERN_PRECONDITION_FAILED', 'ERR_POSTERN_TOO_MANY_CONFLICTS'];
const IDEMPOTENCY_ERRORS: readonly ErrorCode[] = [
  'ERR_POSTERN_IDEMPOTENCY_MISMATCH',
  'ERR_POSTERN_IDEMPOTENCY_IN_FLIGHT',
  'ERR_POSTERN_IDEMPOTENCY_REPLAY',
];

/** A resource as responses show it. */
function readSchema(compiled: CompiledResource): TObject {
  const { resource } = compiled;
  const properties: TProperties = {
    id: Type.String({ description: `Id, starting with "${resource.idPrefix}_".` }),
    uri: Type.String({ description: 'URI of the resource.' }),
    created_at: timestamp('When it was created.'),
  };
  if (resource.parent !== undefined && 'param' in resource.parent) {
    properties[resource.parent.param] = Type.String({
      description: `Id of the ${resource.parent.kind.replaceAll('_', ' ')} that it belongs to.`,
    });
  }
  Object.assign(properties, readForm(compiled.config).properties, resource.derived, resource.live?.schema);
  for (const name of Object.keys(resource.shownOnce ?? {}))
    properties[name] = Type.Union([Type.String(), Type.Null()], {
      description: 'Always null: only the response to the create shows it.',
    });
  for (const name of Object.keys(resource.otherNames?.retired ?? {}))
    properties[name] = Type.Null({ description: 'Always null. May be sent back empty.' });
  for (const module of compiled.modules) {
    properties[module.module.name] = Type.Union([moduleReadSchema(module), Type.Null()], {
      description: `${module.module.description} ${UNSET_MODULE}`,
    });
  }
  for (const child of compiled.inlineChildren) {
    const { listKey } = child.resource;
    properties[listKey] = Type.Array(readSchema(child), { description: `All ${listKey}, with all fields.` });
  }
  Object.assign(properties, resource.rendered);
  return Type.Object(properties);
}

function createdSchema(compiled: CompiledResource, read: TObject): TObject {
  return compiled.resource.shownOnce === undefined
    ? read
    : Type.Object({ ...read.properties, ...compiled.resource.shownOnce });
}

function writeSchema(compiled: CompiledResource, form: 'create' | 'patch'): TObject {
  const own = form === 'create' ? compiled.create.form : compiled.patch.form;
  const inline: TProperties = {};
  for (const module of compiled.modules)
    inline[module.module.name] = Type.Optional({ ...module.create.form, description: module.module.description });
  return Type.Object({ ...own.properties, ...inline }, { additionalProperties: false });
}

function capitalized(title: string): string {
  return title.charAt(0).toUpperCase() + title.slice(1);
}

function plural(title: string): string {
  const [noun = '', ...of] = title.replace(/^an? /, '').split(' of ');
  if (of.length > 0) return `${noun}s of ${of.join(' of ')}`;
  return /[^aeiou]y$/.test(noun) ? `${noun.slice(0, -1)}ies` : `${noun}s`;
}

/** What the operations of every module do. */
export const MODULE_RULES = {
  replace: 'An omitted field is reset to its default.',
  get: 'Returns 404 if the module is not set.',
  delete: 'Succeeds without effect if the module is not set.',
} as const;

/** Replace, get and delete of a module, on one fixed path below its edge or route. */
function moduleOperations(
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

function moduleReadSchema(compiledModule: CompiledModule): TObject {
  const { module } = compiledModule;
  return Type.Object({ ...readForm(module.config).properties, ...module.constants?.schema, ...module.live?.schema });
}

/** An operation that only writes documents, so that a changeset can run it on staged ones. */
interface WriteOperation extends Operation {
  runOn(documents: Documents, request: OperationRequest): Promise<OperationResult>;
}

type RunOn = WriteOperation['runOn'];

/** How an operation runs: on the configuration itself, or on the staged one of a changeset. */
function writing(documents: Documents, runOn: RunOn): Pick<WriteOperation, 'runOn'> & Pick<Operation<unknown>, 'run'> {
  return { runOn, run: (request) => runOn(documents, request) };
}

interface FoundOperation {
  readonly operation: WriteOperation;
  readonly params: Readonly<Record<string, string>>;
}

/** Finds operations by method and path. */
export class WriteOperations {
  /** By method and number of segments. */
  readonly #byShape = new Map<string, { readonly operation: WriteOperation; readonly segments: readonly string[] }[]>();

  constructor(operations: readonly Operation[]) {
    for (const operation of operations) {
      if (!isWriteOperation(operation)) continue;
      const segments = operation.path.split('/');
      const shape = shapeOf(operation.method, segments);
      const known = this.#byShape.get(shape);
      if (known === undefined) this.#byShape.set(shape, [{ operation, segments }]);
      else known.push({ operation, segments });
    }
  }

  find(method: string, path: string): FoundOperation | null {
    const given = path.split('/');
    for (const { operation, segments } of this.#byShape.get(shapeOf(method, given)) ?? []) {
      const params = paramsOf(segments, given);
      if (params !== null) return { operation, params };
    }
    return null;
  }
}

function isWriteOperation(operation: Operation): operation is WriteOperation {
  return 'runOn' in operation;
}

function shapeOf(method: string, segments: readonly string[]): string {
  return `${method} ${segments.length}`;
}

function paramsOf(segments: readonly string[], given: readonly string[]): Record<string, string> | null {
  const params: Record<string, string> = {};
  for (const [at, segment] of segments.entries()) {
    const value = given[at] as string;
    if (segment.startsWith('{')) params[segment.slice(1, -1)] = value;
    else if (segment !== value) return null;
  }
  return params;
}
