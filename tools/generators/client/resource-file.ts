import { listItems, pathParameters } from '../../../src/app/cli/api/api-resources.ts';
import type { OperationDescription } from '../../../src/app/cli/api/operation-list.ts';
import { type ClientResource, camel } from './client-resource.ts';
import { answerType, bodyName, bodySchema, type DeclaredType, declaredTypes, queryType } from './operation-types.ts';
import { comment, type NamedTypes, objectBody } from './type-text.ts';

export const HEAD =
  '// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.';

/** The text of one resource's file: its types, then its class. `homes` maps a type to the file that declares it. */
export function resourceFile(resource: ClientResource, named: NamedTypes, homes: ReadonlyMap<string, string>): string {
  const used = new Set<string>();
  const types = declaredTypes(resource).map((type) => declaration(type, named, used));
  const methods = resource.operations.flatMap((operation) => methodsOf(resource, operation));
  const body = `${types.join('\n\n')}

${comment(resource.description)}export class ${resource.className} extends ResourceClient {
${[...moduleProperties(resource), ...methods].join('\n\n')}
}`;
  return `${HEAD}\n${imports(resource, body, used, homes)}\n\n${body}\n`;
}

function declaration({ name, schema, base }: DeclaredType, named: NamedTypes, used: Set<string>): string {
  const inherited = base?.schema.properties ?? {};
  const fields = Object.entries(schema.properties).filter(
    ([field, own]) => JSON.stringify(inherited[field]) !== JSON.stringify(own),
  );
  // Only a list without pages has a filter of its own.
  const isPaged = name.endsWith('Query') && !('filter' in schema.properties);
  const parent = isPaged ? 'PageQuery' : base?.name;
  const text = objectBody(fields, (schema.required as readonly string[] | undefined) ?? [], named, used);
  return `export interface ${name} ${parent === undefined ? '' : `extends ${parent} `}${text}`;
}

function moduleProperties({ modules }: ClientResource): string[] {
  if (modules.length === 0) return [];
  const fields = modules.map(({ property, className }) => `readonly ${property}: ${className};`);
  const assignments = modules.map(({ property, className }) => `this.${property} = new ${className}(transport);`);
  return [fields.join('\n'), `constructor(transport: Transport) {\nsuper(transport);\n${assignments.join('\n')}\n}`];
}

function methodsOf(resource: ClientResource, operation: OperationDescription): string[] {
  const list = listItems(operation);
  if (list === null) return [methodOf(resource, operation, camel(operation.verb))];
  const { names, call } = argumentsOf(resource, operation);
  const item = resource.typeName;
  const each = `${comment(`${operation.summary}: every one${operation.query?.properties['limit'] === undefined ? '' : ', page after page'}.`)}list(${names.join(', ')}): AsyncGenerator<${item}, void, undefined> {
return this.eachItem(${call}, '${list.key}', options);
}`;
  return [each, methodOf(resource, operation, 'page')];
}

function methodOf(resource: ClientResource, operation: OperationDescription, name: string): string {
  const { names, call } = argumentsOf(resource, operation);
  const answer = answerType(resource, operation);
  const text =
    name === 'page' ? `${operation.summary}: one page.` : `${operation.summary}. ${operation.description ?? ''}`;
  const result = answer === null ? 'ResponseInfo' : `Answer<${answer}>`;
  const run = answer === null ? 'callForNothing' : 'call';
  return `${comment(text.trim())}${name}(${names.join(', ')}): Promise<${result}> {
return this.${run}(${call}, options);
}`;
}

/** One path parameter is a plain argument; several are an object, because their order would be guesswork. */
function argumentsOf(resource: ClientResource, operation: OperationDescription): { names: string[]; call: string } {
  const params = pathParameters(operation.path);
  const names: string[] = [];
  const call = [`method: '${operation.method}'`, `path: '${operation.path}'`];
  const [only] = params;
  if (params.length === 1 && only !== undefined) {
    const argument = camel(only);
    names.push(`${argument}: string`);
    call.push(only === argument ? `params: { ${only} }` : `params: { ${only}: ${argument} }`);
  } else if (params.length > 1) {
    names.push(`params: { ${params.map((name) => `readonly ${name}: string`).join('; ')} }`);
    call.push('params');
  }
  const body = bodySchema(operation);
  if (body !== null) {
    const required = ('required' in body ? body.required : []) as readonly string[];
    const isOptional = required.length === 0 && operation.method !== 'PATCH';
    names.push(`body: ${bodyName(resource, operation)}${isOptional ? ' = {}' : ''}`);
    call.push('body');
  } else if (operation.body !== undefined && operation.body.parsing !== 'ignored') {
    call.push('body: {}');
  }
  const query = queryType(resource, operation);
  if (query !== null) {
    names.push(`query?: ${query}`);
    call.push('query');
  }
  names.push(`options?: ${optionsType(operation)}`);
  return { names, call: `{ ${call.join(', ')} }` };
}

function optionsType(operation: OperationDescription): string {
  if (operation.isIdempotentByKey === true) return 'CreateOptions';
  if (operation.isConditional !== true) return 'RequestOptions';
  return operation.method === 'POST' ? 'ConditionalOptions' : 'WriteOptions';
}

/** Imports of everything that the text mentions. */
function imports(
  resource: ClientResource,
  body: string,
  used: ReadonlySet<string>,
  homes: ReadonlyMap<string, string>,
): string {
  const lines: string[] = [];
  const mentioned = (names: readonly string[]): string[] =>
    names.filter((name) => new RegExp(`\\b${name}\\b`).test(body));
  const types: readonly (readonly [readonly string[], string])[] = [
    [['Answer', 'ResponseInfo'], '../answer.ts'],
    [['PageQuery'], '../page-query.ts'],
    [['Ref'], '../ref.ts'],
    [['ConditionalOptions', 'CreateOptions', 'RequestOptions', 'WriteOptions'], '../request-options.ts'],
    [['Transport'], '../transport.ts'],
  ];
  for (const [names, file] of types) {
    const found = mentioned(names);
    if (found.length > 0) lines.push(`import type { ${found.join(', ')} } from '${file}';`);
  }
  lines.push(`import { ResourceClient } from '../resource-client.ts';`);
  const others = new Map<string, string[]>();
  for (const name of used) {
    const file = homes.get(name);
    if (file !== undefined && file !== resource.file) others.set(file, [...(others.get(file) ?? []), `type ${name}`]);
  }
  for (const { file, className } of resource.modules) others.set(file, [className, ...(others.get(file) ?? [])]);
  for (const [file, names] of others) {
    const isTypeOnly = names.every((name) => name.startsWith('type '));
    const list = isTypeOnly ? names.map((name) => name.slice('type '.length)) : names;
    lines.push(`import ${isTypeOnly ? 'type ' : ''}{ ${list.join(', ')} } from './${file}.ts';`);
  }
  return lines.join('\n');
}
