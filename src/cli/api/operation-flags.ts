import type { TObject, TSchema } from 'typebox';
import { bodyFlags } from './body-flags.ts';
import type { Flag } from './flag.ts';
import type { OperationDescription } from './operation-list.ts';
import { kebab, moduleName, pathParameters, singularNoun } from './resource-names.ts';

export function operationFlags(operation: OperationDescription): readonly Flag[] {
  const named = [...pathFlags(operation), ...queryFlags(operation), ...ownBodyFlags(operation)];
  return [...named, ...commandFlags(operation)];
}

/**
 * `{edge_id}` becomes `--edge`. `{id}` becomes `--id`; below a module, where it is the owner's id, `--route` or
 * `--edge`.
 */
export function pathFlags(operation: OperationDescription): readonly Flag[] {
  const noun = kebab(singularNoun(operation));
  return pathParameters(operation.path).map((parameter) => {
    const own = moduleName(operation.resource) === null ? ['id', noun] : [noun, 'id'];
    const [name = '', ...aliases] = parameter === 'id' ? own : [kebab(parameter.replace(/_id$/, ''))];
    return {
      name,
      aliases,
      kind: 'text',
      hint: parameter === 'type' ? 'TYPE' : 'ID',
      description: parameter === 'type' ? 'Event type.' : `Id of the ${parameter === 'id' ? noun : name}.`,
      target: { in: 'path', name: parameter },
      isRequired: true,
    };
  });
}

function queryFlags(operation: OperationDescription): readonly Flag[] {
  const fields: readonly (readonly [string, TSchema])[] = Object.entries(operation.query?.properties ?? {});
  return fields.map(([name, field]) => {
    const { description = '', enum: choices } = field as { description?: string; enum?: readonly string[] };
    return {
      name: kebab(name),
      kind: 'text',
      hint: choices?.join('|') ?? (name === 'limit' ? 'NUMBER' : 'ID'),
      description,
      target: { in: 'query', name },
      ...(choices !== undefined && { choices }),
    };
  });
}

function ownBodyFlags(operation: OperationDescription): readonly Flag[] {
  return takesFields(operation) ? bodyFlags(operation.body?.schema as TObject) : [];
}

/** Whether the operation has a body with fields. */
export function takesFields({ body }: OperationDescription): boolean {
  return (
    body !== undefined && body.parsing !== 'ignored' && Object.keys((body.schema as TObject).properties).length > 0
  );
}

function commandFlags(operation: OperationDescription): readonly Flag[] {
  return [
    ...(takesFields(operation) ? BODY_FLAGS : []),
    ...(operation.verb === 'list' && operation.query !== undefined ? [ALL_FLAG] : []),
    ...(operation.isConditional === true ? [IF_MATCH_FLAG] : []),
    ...(operation.isIdempotentByKey === true ? [IDEMPOTENCY_FLAG] : []),
    ...CONNECTION_FLAGS,
  ];
}

function commandFlag(flag: Omit<Flag, 'target'>): Flag {
  return { ...flag, target: { in: 'command' } };
}

const BODY_FLAGS: readonly Flag[] = [
  commandFlag({
    name: 'from-file',
    kind: 'text',
    hint: 'FILE',
    isFile: true,
    description: 'Take the fields from a JSON or YAML file, "-" for standard input. Flags beat the file.',
  }),
  commandFlag({
    name: 'set',
    kind: 'repeated',
    hint: 'FIELD=JSON',
    description: 'Set any field to a JSON value, dots between names: --set tls.enabled=true.',
  }),
];

const ALL_FLAG = commandFlag({ name: 'all', kind: 'switch', hint: '', description: 'Follow every page.' });

const IF_MATCH_FLAG = commandFlag({
  name: 'if-match',
  kind: 'text',
  hint: 'ETAG',
  description: 'Only if nobody has changed it since: the ETag that --verbose showed, with or without its quotes.',
});

const IDEMPOTENCY_FLAG = commandFlag({
  name: 'idempotency-key',
  kind: 'text',
  hint: 'KEY',
  description: 'Sent again with the same key within 24 hours, the command creates nothing more.',
});

/** Flags of every command. */
export const CONNECTION_FLAGS: readonly Flag[] = [
  commandFlag({ name: 'json', kind: 'switch', hint: '', description: 'Print what the API answered, as it is.' }),
  commandFlag({
    name: 'only',
    kind: 'text',
    hint: 'FIELD',
    description: 'Print nothing but this field, a line for each thing: --only id, --only target.webhook.secret.',
  }),
  commandFlag({
    name: 'api-url',
    kind: 'text',
    hint: 'URL',
    description: 'Where the API is; else POSTERN_CLI_API_URL or POSTERN_API_URL, else http://127.0.0.1:7080.',
  }),
  commandFlag({
    name: 'api-key-file',
    kind: 'text',
    hint: 'FILE',
    isFile: true,
    description:
      'File with the API key; else POSTERN_CLI_API_KEY or POSTERN_API_KEY, else first-api-key in the data directory.',
  }),
  commandFlag({
    name: 'root-ca',
    kind: 'text',
    hint: 'FILE',
    isFile: true,
    description: 'PEM file with a CA to trust as well, for a server with a certificate of its own CA.',
  }),
  commandFlag({ name: 'dry-run', kind: 'switch', hint: '', description: 'Show the request and send nothing.' }),
  commandFlag({
    name: 'verbose',
    kind: 'switch',
    hint: '',
    description: 'Say on standard error what is sent, with which key, and what came back.',
  }),
];
