import { computed } from '@preact/signals';
import type { JsonSchema } from './json-schema.ts';
import { apiDocument, type OpenapiDocument, type OpenapiOperation, schemaNameOf } from './openapi-document.ts';

export interface ApiOperation {
  readonly method: string;
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  readonly scopes: readonly string[];
  readonly body: JsonSchema | null;
}

export interface ModuleType {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly path: string;
  readonly replace: ApiOperation;
  readonly remove: ApiOperation | null;
}

/** A noun of the API, as its document describes it. */
export interface ResourceType {
  readonly tag: string;
  readonly kind: string;
  readonly title: string;
  readonly plural: string;
  readonly description: string;
  /** What was deleted does not come back, by no undo. */
  readonly isNeverRestored: boolean;
  readonly listKey: string;
  readonly item: JsonSchema;
  readonly list: ApiOperation;
  readonly get: ApiOperation | null;
  readonly create: ApiOperation | null;
  readonly update: ApiOperation | null;
  readonly remove: ApiOperation | null;
  readonly actions: readonly ApiOperation[];
  readonly modules: readonly ModuleType[];
}

export const resourceTypes = computed<readonly ResourceType[]>(() =>
  apiDocument.value === null ? [] : typesIn(apiDocument.value),
);

export function resourceType(tag: string): ResourceType | undefined {
  return resourceTypes.value.find((type) => type.tag === tag);
}

export function typeOfKind(kind: string): ResourceType | undefined {
  return resourceTypes.value.find((type) => type.kind === kind);
}

/** Kinds of backends, including those that this console never heard of. */
export function isBackend(type: ResourceType): boolean {
  return type.list.path.startsWith('/backends/');
}

interface Placed {
  readonly method: string;
  readonly path: string;
  readonly operation: OpenapiOperation;
}

function typesIn(document: OpenapiDocument): readonly ResourceType[] {
  const all: Placed[] = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      // Parameters of all of its operations.
      .filter(([key]) => key !== 'parameters')
      .map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
  return document.tags.flatMap((tag): readonly ResourceType[] => {
    const own = all.filter(({ operation }) => operation.tags?.includes(tag.name));
    const listed = own.find(({ method, operation }) => method === 'GET' && operation.operationId.endsWith('.list'));
    if (listed === undefined) return [];
    const list = operationOf(listed);
    const rows = rowsOf(document, listed.operation);
    if (rows === null) return [];
    const ofItem = own.filter(({ path }) => path.startsWith(`${list.path}/{`) && path.endsWith('}'));
    const find = (from: readonly Placed[], method: string): ApiOperation | null => {
      const found = from.find((each) => each.method === method);
      return found === undefined ? null : operationOf(found);
    };
    const get = find(ofItem, 'GET');
    const actions = own.filter(
      ({ method, path }) => method === 'POST' && get !== null && path.startsWith(`${get.path}/`),
    );
    return [
      {
        tag: tag.name,
        kind: rows.kind,
        title: tag['x-displayName'] ?? tag.name,
        plural: (listed.operation.summary ?? tag.name).replace(/^List (all |online )?/, ''),
        description: tag.description ?? '',
        isNeverRestored: tag['x-never-restored'] === true,
        listKey: rows.listKey,
        item: rows.item,
        list,
        get,
        create: find(
          own.filter(({ path }) => path === list.path),
          'POST',
        ),
        update: find(ofItem, 'PATCH'),
        remove: find(ofItem, 'DELETE'),
        actions: actions.map(operationOf),
        modules: modulesOf(document, tag.name, all),
      },
    ];
  });
}

function modulesOf(document: OpenapiDocument, tag: string, all: readonly Placed[]): readonly ModuleType[] {
  return document.tags.flatMap((each): readonly ModuleType[] => {
    if (!each.name.startsWith(`${tag}.`)) return [];
    const own = all.filter(({ operation }) => operation.tags?.includes(each.name));
    const replace = own.find(({ method }) => method === 'PUT');
    if (replace === undefined) return [];
    const remove = own.find(({ method, path }) => method === 'DELETE' && path === replace.path);
    return [
      {
        name: each.name.slice(tag.length + 1),
        title: (each['x-displayName'] ?? each.name).replace(/ module$/, ''),
        description: each.description ?? '',
        path: replace.path,
        replace: operationOf(replace),
        remove: remove === undefined ? null : operationOf(remove),
      },
    ];
  });
}

function operationOf({ method, path, operation }: Placed): ApiOperation {
  return {
    method,
    path,
    summary: operation.summary ?? '',
    description: operation.description ?? '',
    scopes: operation.security?.flatMap((each) => Object.values(each).flat()) ?? [],
    body: Object.values(operation.requestBody?.content ?? {})[0]?.schema ?? null,
  };
}

/** The field of the list's answer that has the rows. */
function rowsOf(
  document: OpenapiDocument,
  operation: OpenapiOperation,
): { listKey: string; item: JsonSchema; kind: string } | null {
  const success = operation.responses?.['200'];
  const shared = success?.$ref === undefined ? success : document.components.responses[schemaNameOf(success.$ref)];
  const answer = Object.values(shared?.content ?? {})[0]?.schema;
  const schema = answer?.$ref === undefined ? answer : document.components.schemas[schemaNameOf(answer.$ref)];
  for (const [listKey, field] of Object.entries(schema?.properties ?? {})) {
    const item = field.type === 'array' ? field.items : undefined;
    if (item?.$ref === undefined) continue;
    const name = schemaNameOf(item.$ref);
    return { listKey, item: document.components.schemas[name] ?? item, kind: snakeCase(name) };
  }
  return null;
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter, index: number) => (index === 0 ? '' : '_') + letter.toLowerCase());
}
