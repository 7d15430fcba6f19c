import type { JsonObject, JsonValue } from '../../lib/json.ts';
import { isJsonObject } from '../../lib/json.ts';
import { wrapText } from '../../lib/wrap-text.ts';
import type { ApiResource } from './api-resources.ts';
import type { Flag } from './flag.ts';
import { operationFlags, takesFields } from './operation-flags.ts';
import type { OperationDescription } from './operation-list.ts';
import { kebab, resourceName } from './resource-names.ts';

const HELP_WIDTH = 80;
const EXIT_CODES = `Exit codes: 0 success, 1 rejected by the API, 2 invalid usage, 3 server unreachable.`;

export function overviewHelp(resources: readonly ApiResource[]): string {
  const rows = resources.map(({ name, aliases, description }) => {
    const also = aliases.length === 0 ? '' : ` (also: ${aliases.join(', ')})`;
    return [name, `${description}${also}`] as const;
  });
  return `Usage: postern api RESOURCE VERB [FLAGS]

Calls the management API. RESOURCE is one of:

${columns(rows)}

Run postern api RESOURCE --help for the verbs of a resource, postern api RESOURCE VERB --help for the flags.

The server address comes from --api-url, POSTERN_CLI_API_URL or POSTERN_API_URL (default
http://127.0.0.1:7080). The API key comes from --api-key-file, POSTERN_CLI_API_KEY or POSTERN_API_KEY. For a
server on this machine, the CLI also finds the key in the file first-api-key in POSTERN_DATA_DIR or
./postern-data.
Pass long or secret values as @FILE: other users of the machine can read the command line.

${EXIT_CODES}`;
}

export function resourceHelp({ name, description, operations }: ApiResource): string {
  return `Usage: postern api ${name} VERB [FLAGS]

${description}

${columns(operations.map(({ verb, summary }) => [verb, summary]))}

Run postern api ${name} VERB --help for the flags.`;
}

export function operationHelp(operation: OperationDescription): string {
  const flags = operationFlags(operation);
  const groups = [
    ['Identifiers (the last one also works without its flag)', flags.filter(({ target }) => target.in === 'path')],
    ['Filters', flags.filter(({ target }) => target.in === 'query')],
    ['Fields', flags.filter(({ target }) => target.in === 'body')],
    ['Flags', flags.filter(({ target }) => target.in === 'command')],
  ] as const;
  const sections = groups
    .filter(([, own]) => own.length > 0)
    .map(([title, own]) => `${title}:\n${columns(own.map((flag) => [flagText(flag), flagDescription(flag)]))}`);
  const sentences = [operation.summary, operation.description].filter((text) => text !== undefined && text !== '');
  return `Usage: postern api ${commandOf(operation)} [FLAGS]

${sentences.map((text) => `${text?.replace(/\.$/, '')}.`).join(' ')}

${sections.join('\n\n')}

Example:
  ${exampleOf(operation, flags)}

${EXIT_CODES}`;
}

function commandOf(operation: OperationDescription): string {
  return `${kebab(resourceName(operation))} ${operation.verb}`;
}

function flagText({ name, kind, hint, target }: Flag): string {
  if (kind !== 'switch') return `--${name} ${hint}`;
  return target.in === 'body' ? `--[no-]${name}` : `--${name}`;
}

function flagDescription({ description, isRequired, isSecret, target }: Flag): string {
  const required = isRequired === true && target.in === 'body' ? ' Required.' : '';
  return `${description}${required}${isSecret === true ? ' Secret: prefer @FILE to a value here.' : ''}`;
}

/** Based on the same example as the API's documentation. */
function exampleOf(operation: OperationDescription, flags: readonly Flag[]): string {
  const ids = flags.filter(({ target }) => target.in === 'path').map(({ name, hint }) => `--${name} ${hint}`);
  const fields = takesFields(operation) ? exampleFlags(operation.body?.example ?? {}, flags) : [];
  return ['postern api', commandOf(operation), ...ids, ...fields].join(' ');
}

function exampleFlags(example: JsonObject, flags: readonly Flag[]): readonly string[] {
  return Object.entries(example).map(([field, value]) => {
    const flag = flags.find(({ target }) => target.in === 'body' && target.path.join('.') === field);
    // A field with the name of a command's own flag has none.
    if (flag === undefined) return `--set ${quoted(`${field}=${JSON.stringify(value)}`)}`;
    if (flag.kind === 'switch') return `--${value === true ? '' : 'no-'}${flag.name}`;
    return `--${flag.name} ${quoted(flag.isSecret === true ? '@FILE' : exampleText(value))}`;
  });
}

function exampleText(value: JsonValue): string {
  if (typeof value === 'string') return value;
  const isPlain = (inner: JsonValue): boolean => typeof inner === 'string' || typeof inner === 'number';
  if (Array.isArray(value) && value.every(isPlain)) return value.join(',');
  if (isJsonObject(value) && Object.values(value).every(isPlain)) {
    return Object.entries(value)
      .map(([name, inner]) => `${name}=${inner as string | number}`)
      .join(',');
  }
  return JSON.stringify(value);
}

function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

function columns(rows: readonly (readonly [string, string])[]): string {
  const width = Math.min(32, Math.max(...rows.map(([left]) => left.length)) + 2);
  const indent = ' '.repeat(width + 2);
  return rows
    .map(([left, right]) => {
      const text = wrapText(right, HELP_WIDTH - indent.length).join(`\n${indent}`);
      return left.length + 2 > width ? `  ${left}\n${indent}${text}` : `  ${left.padEnd(width)}${text}`;
    })
    .join('\n');
}
