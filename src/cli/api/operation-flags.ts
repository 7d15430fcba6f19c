import type { TObject, TSchema } from 'typebox';
import { OUTPUT_FORMATS } from '../output/output-format.ts';
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
function pathFlags(operation: OperationDescription): readonly Flag[] {
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
  limit: 'NUMBER',
  before_revision: 'REVISION',
  since: 'TIME',
  until: 'TIME',
};

function queryFlags(operation: OperationDescription): readonly Flag[] {
  const fields: readonly (readonly [string, TSchema])[] = Object.entries(operation.query?.properties ?? {});
  return fields.map(([name, field]) => {
    const { description = '', enum: choices } = field as { description?: string; enum?: readonly string[] };
    return {
      name: kebab(name),
      kind: 'text',
      hint: choices?.join('|') ?? QUERY_HINTS[name] ?? 'ID',
      description,
      target: { in: 'query', name },
      ...(choices !== undefined && { choices }),
    };
  });
}

function ownBodyFlags(operation: OperationDescription): readonly Flag[] {
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

function commandFlags(operation: OperationDescription): readonly Flag[] {
  return [
    ...(takesFields(operation) ? BODY_FLAGS : []),
    ...(operation.verb === 'list' && operation.query?.properties['limit'] !== undefined ? [ALL_FLAG] : []),
    ...(operation.isConditional === true ? [IF_MATCH_FLAG] : []),
    ...(operation.isConditional === true && operation.method !== 'POST' ? [IF_NONE_MATCH_FLAG] : []),
    ...(operation.isIdempotentByKey === true ? [IDEMPOTENCY_FLAG] : []),
    ...(operation.method === 'GET' ? WATCH_FLAGS : []),
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
    description: 'Read the fields from a JSON or YAML file; - reads standard input. Flags override the file.',
  }),
  commandFlag({
    name: 'set',
    kind: 'repeated',
    hint: 'FIELD=JSON',
    description: 'Set any field to a JSON value; separate nested names with dots: --set tls.enabled=true.',
  }),
];

const ALL_FLAG = commandFlag({ name: 'all', kind: 'switch', hint: '', description: 'Fetch all pages.' });

const IF_MATCH_FLAG = commandFlag({
  name: 'if-match',
  kind: 'text',
  hint: 'ETAG',
  description: 'ETag that --verbose showed, with or without quotes. Fails if the resource has changed since.',
});

const IF_NONE_MATCH_FLAG = commandFlag({
  name: 'if-none-match',
  kind: 'text',
  hint: 'ETAG',
  description: "'*' fails if it exists already, so that nothing is replaced; an ETag fails if it has that one still.",
});

const IDEMPOTENCY_FLAG = commandFlag({
  name: 'idempotency-key',
  kind: 'text',
  hint: 'KEY',
  description: 'Key that makes the command safe to repeat: within 24 hours it creates nothing twice.',
});

const WATCH_FLAGS: readonly Flag[] = [
  commandFlag({
    name: 'watch',
    kind: 'switch',
    hint: '',
    description: 'Repeat until interrupted, and show what changes.',
  }),
  commandFlag({
    name: 'every',
    kind: 'text',
    hint: 'SECONDS',
    description: 'With --watch: time between two requests (default 2).',
  }),
];

/** Flags of every command. */
const CONNECTION_FLAGS: readonly Flag[] = [
  commandFlag({
    name: 'output',
    aliases: ['o'],
    kind: 'text',
    hint: OUTPUT_FORMATS.join('|'),
    choices: OUTPUT_FORMATS,
    description: 'Form of the output (default table); id prints one id per line. Short: -o.',
  }),
  commandFlag({ name: 'json', kind: 'switch', hint: '', description: 'Print the JSON response of the API unchanged.' }),
  commandFlag({
    name: 'only',
    kind: 'text',
    hint: 'FIELD',
    description: 'Print only this field, one line per result: --only id, --only target.webhook.secret.',
  }),
  commandFlag({
    name: 'api-url',
    kind: 'text',
    hint: 'URL',
    description: 'Address of the API (default POSTERN_CLI_API_URL, POSTERN_API_URL, then http://127.0.0.1:7080).',
  }),
  commandFlag({
    name: 'api-key-file',
    kind: 'text',
    hint: 'FILE',
    isFile: true,
    description:
      'File with the API key (default POSTERN_CLI_API_KEY, POSTERN_API_KEY, then first-api-key in the data directory).',
  }),
  commandFlag({
    name: 'root-ca',
    kind: 'text',
    hint: 'FILE',
    isFile: true,
    description: "PEM file with an additional CA to trust, such as the server's internal CA.",
  }),
  commandFlag({ name: 'dry-run', kind: 'switch', hint: '', description: 'Print the request without sending it.' }),
  commandFlag({
    name: 'verbose',
    kind: 'switch',
    hint: '',
    description: 'Print the request, the source of the key and the response status to standard error.',
  }),
];

const OWN_NAMES: ReadonlySet<string> = new Set([...CONNECTION_FLAGS, ...WATCH_FLAGS].map(({ name }) => name));
