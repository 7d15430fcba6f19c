import type { TObject, TSchema } from 'typebox';
import type { Flag } from '../../../kit/flags.ts';
import { API_EXIT_CODES, type CommandSyntax, type FlagGroup } from '../command.ts';
import { outputFlag } from '../output/output-format.ts';
import { WATCH_FLAGS } from '../output/watch.ts';
import { CONNECTION, fileFlag, switchFlag, textFlag, UTC } from '../shared-flags.ts';
import {
  apiResources,
  findOperation,
  findResource,
  kebab,
  moduleName,
  pathParameters,
  singularNoun,
} from './api-resources.ts';
import { type ApiFlag, bodyFlags } from './body-flags.ts';
import { type OperationDescription, operationList } from './operation-list.ts';

export function operationFlags(operation: OperationDescription): readonly ApiFlag[] {
  const named = [...pathFlags(operation), ...queryFlags(operation), ...ownBodyFlags(operation)];
  return [...named, ...commandFlags(operation)];
}

/**
 * `{edge_id}` becomes `--edge`. `{id}` becomes `--id`; below a module, where it is the owner's id, `--route` or
 * `--edge`.
 */
function pathFlags(operation: OperationDescription): readonly ApiFlag[] {
  const noun = kebab(singularNoun(operation));
  return pathParameters(operation.path).map((parameter) => {
    const own = moduleName(operation.resource) === null ? ['id', noun] : [noun, 'id'];
    const [name = '', ...aliases] = parameter === 'id' ? own : [kebab(parameter.replace(/_id$/, ''))];
    return {
      name,
      aliases,
      kind: 'text',
      hint: OTHER_PARAMETERS[parameter]?.hint ?? 'ID',
      description: OTHER_PARAMETERS[parameter]?.description ?? `Id or name of the ${parameter === 'id' ? noun : name}.`,
      target: { in: 'path', name: parameter },
      isRequired: true,
    };
  });
}

/** Path parameters that are not ids. */
const OTHER_PARAMETERS: Readonly<Record<string, { readonly hint: string; readonly description: string }>> = {
  type: { hint: 'TYPE', description: 'Event type.' },
  revision: { hint: 'REVISION', description: 'Revision of the change.' },
};

const QUERY_HINTS: Readonly<Record<string, string>> = {
  filter: 'EXPRESSION',
  order_by: 'FIELD',
  q: 'TEXT',
  skip: 'NUMBER',
  limit: 'NUMBER',
  before_revision: 'REVISION',
  since: 'TIME',
  until: 'TIME',
};

const RESOURCE_PARAMETERS: ReadonlySet<string> = new Set(['edge', 'route', 'user']);

/** Parameters that name a resource: `edge_id`, `before_id`, `user`. */
function isIdParameter(name: string): boolean {
  return name.endsWith('_id') || RESOURCE_PARAMETERS.has(name);
}

function queryFlags(operation: OperationDescription): readonly ApiFlag[] {
  const fields: readonly (readonly [string, TSchema])[] = Object.entries(operation.query?.properties ?? {});
  return fields.map(([name, field]) => {
    const { description = '', enum: choices } = field as { description?: string; enum?: readonly string[] };
    return {
      name: kebab(name),
      kind: 'text',
      hint: choices?.join('|') ?? QUERY_HINTS[name] ?? (isIdParameter(name) ? 'ID' : 'VALUE'),
      description,
      target: { in: 'query', name },
      ...(choices !== undefined && { choices }),
    };
  });
}

function ownBodyFlags(operation: OperationDescription): readonly ApiFlag[] {
  if (!takesFields(operation)) return [];
  // A field with the name of a command's own flag is set with --set or --from-file.
  return bodyFlags(operation.body?.schema as TObject).filter(({ name }) => !OWN_NAMES.has(name));
}

/** Whether the operation has a body with fields. */
export function takesFields({ body }: OperationDescription): boolean {
  return (
    body !== undefined && body.parsing !== 'ignored' && Object.keys((body.schema as TObject).properties).length > 0
  );
}

function commandFlags(operation: OperationDescription): readonly ApiFlag[] {
  const flags = [
    ...(takesFields(operation) ? BODY_FLAGS : []),
    ...(operation.verb === 'list' && operation.query?.properties['limit'] !== undefined ? [ALL_FLAG] : []),
    ...(operation.isConditional === true ? [IF_MATCH_FLAG] : []),
    ...(operation.isConditional === true && operation.method !== 'POST' ? [IF_NONE_MATCH_FLAG] : []),
    ...(operation.isIdempotentByKey === true ? [IDEMPOTENCY_FLAG] : []),
    ...(operation.method === 'GET' ? WATCH_FLAGS : []),
    ...COMMON_FLAGS,
  ];
  return flags.map((flag) => ({ ...flag, target: { in: 'command' } }));
}

const BODY_FLAGS: readonly Flag[] = [
  fileFlag('from-file', 'Read the fields from a JSON or YAML file; - reads standard input. Flags override the file.'),
  {
    name: 'set',
    kind: 'repeated',
    hint: 'FIELD=JSON',
    description: 'Set any field to a JSON value; separate nested names with dots: --set tls.enabled=true.',
  },
];

const ALL_FLAG = switchFlag('all', 'Fetch all pages.');

const IF_MATCH_FLAG = textFlag(
  'if-match',
  'ETAG',
  'ETag that --verbose showed, with or without quotes. Fails if the resource has changed since.',
);

const IF_NONE_MATCH_FLAG = textFlag(
  'if-none-match',
  'ETAG',
  "'*' fails if it exists already, so that nothing is replaced; an ETag fails if it has that one still.",
);

const IDEMPOTENCY_FLAG = textFlag(
  'idempotency-key',
  'KEY',
  'Key that makes the command safe to repeat: within 24 hours it creates nothing twice.',
);

const OUTPUT_FLAGS: readonly Flag[] = [
  outputFlag(),
  UTC,
  switchFlag('json', 'Print the JSON response of the API unchanged.'),
  textFlag('only', 'FIELD', 'Print only this field, one line per result: --only id, --only target.webhook.secret.'),
  switchFlag('dry-run', 'Print the request without sending it.'),
  switchFlag('verbose', 'Print the request, the source of the key and the response status to standard error.'),
];

/** Flags of every operation. */
export const COMMON_FLAGS: readonly Flag[] = [...OUTPUT_FLAGS, ...CONNECTION.flags];

/** The same for the syntax of a command that is short for operations. */
export const COMMON_GROUPS: readonly FlagGroup[] = [{ title: 'Output', flags: OUTPUT_FLAGS }, CONNECTION];

/** Without those of every operation. */
export function flagsOfOperation(operation: OperationDescription): readonly ApiFlag[] {
  const common = new Set(COMMON_FLAGS.map(({ name }) => name));
  return operationFlags(operation).filter(({ name, target }) => target.in !== 'command' || !common.has(name));
}

const OWN_NAMES: ReadonlySet<string> = new Set([...COMMON_FLAGS, ...WATCH_FLAGS].map(({ name }) => name));

/** Syntax of a command that is a short form of `postern api NAME list`. */
export function listSyntax(name: string, about: string): CommandSyntax {
  const operation = findOperation(findResource(apiResources(operationList()), name), 'list');
  return {
    name,
    about: `${about} Short for "postern api ${name} list".`,
    flags: operationFlags(operation),
    exitCodes: API_EXIT_CODES,
  };
}
