import { isJsonObject, type JsonObject, type JsonValue } from '../../../kit/json.ts';
import { shellWord } from '../../../kit/text/terminal-text.ts';
import { API_EXIT_CODES, type CommandSyntax } from '../command.ts';
import { exampleLines, flagDescription, flagText, type HelpRow, helpTable, paragraph } from '../command-help.ts';
import { type ApiResource, kebab, resourceName, verbWord } from './api-resources.ts';
import type { ApiFlag } from './body-flags.ts';
import { COMMON_FLAGS, flagsOfOperation, operationFlags, takesFields } from './operation-flags.ts';
import type { OperationDescription } from './operation-list.ts';

/** Everything that all operations share. */
export const API_SYNTAX: CommandSyntax = {
  name: 'api',
  usage: ['RESOURCE VERB'],
  hasOperands: true,
  about:
    'Calls the management API. Run postern api RESOURCE --help for the verbs of a resource, postern api RESOURCE VERB --help for the flags.',
  flags: COMMON_FLAGS,
  notes: [
    'Root and the user of a server need no API key on its machine: the CLI finds the server in POSTERN_DATA_DIR, in your own ./postern-server.yaml, ./postern-data, or the installed service, whose settings only root can read. Pass long or secret values as @FILE: other users of the machine can read the command line.',
  ],
  exitCodes: API_EXIT_CODES,
};

/** A list of more fields leaves out those inside of objects, except of objects with few. */
const LONG_LIST = 60;
/** Flags of such an object: the object itself and two fields. */
const SHORT_OBJECT = 3;

/** A list of fields that fills more than about a screen is shown in a shorter form. */
const LONG_FIELDS = 24;
/** So many objects with the same fields become one row for each field. */
const MANY_SIBLINGS = 3;

const EXIT_CODES = `Exit codes:\n${helpTable(Object.entries(API_EXIT_CODES))}`;

export function overviewHelp(resources: readonly ApiResource[]): string {
  const rows = resources.map(({ name, aliases, description }): HelpRow => {
    const also = aliases.length === 0 ? '' : ` (also: ${aliases.join(', ')})`;
    return [name, `${firstSentence(description)}${also}`];
  });
  return [
    'Usage: postern api RESOURCE VERB [FLAGS]',
    paragraph(API_SYNTAX.about),
    `Resources:\n${helpTable(rows)}`,
    `Flags of every verb:\n${helpTable(COMMON_FLAGS.map((flag) => [flagText(flag), flagDescription(flag)]))}`,
    ...(API_SYNTAX.notes ?? []).map(paragraph),
    EXIT_CODES,
  ].join('\n\n');
}

export function resourceHelp({ name, description, operations }: ApiResource): string {
  return `Usage: postern api ${name} VERB [FLAGS]

${paragraph(description)}

Verbs:
${helpTable(operations.map((operation) => [verbWord(operation), operation.summary]))}

Run postern api ${name} VERB --help for the flags.`;
}

/** `isWhole`: with --all. */
export function operationHelp(operation: OperationDescription, isWhole = false): string {
  const flags = isWhole ? operationFlags(operation) : flagsOfOperation(operation);
  const groups = [
    ['Identifiers (the last one also works without its flag)', flags.filter(({ target }) => target.in === 'path')],
    ['Filters', flags.filter(({ target }) => target.in === 'query')],
    ['Fields', isWhole ? flags.filter(({ target }) => target.in === 'body') : shortFields(shownFields(flags))],
    ['Flags', flags.filter(({ target }) => target.in === 'command')],
  ] as const;
  const sections = groups
    .filter(([, own]) => own.length > 0)
    .map(([title, own]) => `${title}:\n${helpTable(own.map(rowOf))}`);
  const sentences = [operation.summary, operation.description].filter((text) => text !== undefined && text !== '');
  return `Usage: postern api ${commandOf(operation)} [FLAGS]

${paragraph(sentences.map((text) => `${text?.replace(/\.$/, '')}.`).join(' '))}

${sections.join('\n\n')}
${isWhole ? '' : `${nestedNote(flags)}\n${allNote(operation)}\n`}
Example:
${exampleLines(exampleOf(operation, operationFlags(operation)))}

${EXIT_CODES}`;
}

/** Fields of a route's modules would fill ten screens. The help of each module has them. */
function shownFields(flags: readonly ApiFlag[]): readonly ApiFlag[] {
  const fields = flags.filter(({ target }) => target.in === 'body');
  if (fields.length <= LONG_LIST) return fields;
  const inside = Map.groupBy(fields, objectOf);
  return fields.filter((field) => (inside.get(objectOf(field)) ?? []).length <= SHORT_OBJECT || depthOf(field) === 1);
}

/**
 * Objects with the same fields, such as the login at each of eight providers: one row for each field, with NAME for the
 * object.
 */
function shortFields(fields: readonly ApiFlag[]): readonly ApiFlag[] {
  if (fields.length <= LONG_FIELDS) return fields;
  const parents = fields.filter((field) => siblingsIn(field, fields).length >= MANY_SIBLINGS);
  return parents.reduce((shown, parent) => withoutRepetition(parent, shown), fields);
}

/** Names of the objects in an object that have a field in common. */
function siblingsIn(parent: ApiFlag, fields: readonly ApiFlag[]): readonly string[] {
  const path = pathOf(parent);
  const inside = fields.filter((field) => isBelow(field, path) && pathOf(field).length === path.length + 2);
  return [...new Set(inside.map((field) => pathOf(field)[path.length] ?? ''))];
}

function withoutRepetition(parent: ApiFlag, fields: readonly ApiFlag[]): readonly ApiFlag[] {
  const path = pathOf(parent);
  const names = siblingsIn(parent, fields);
  const word = kebab(path.at(-1) ?? '').toUpperCase();
  const nameInside = (field: ApiFlag): string =>
    pathOf(field)
      .slice(path.length + 1)
      .join('.');
  const owners = Map.groupBy(
    fields.filter((field) => isBelow(field, path) && nameInside(field) !== ''),
    nameInside,
  );
  return fields.flatMap((field) => {
    if (field === parent)
      return [{ ...field, description: `${field.description} ${word} below is one of ${names.join(', ')}.` }];
    if (!isBelow(field, path) || !names.includes(pathOf(field)[path.length] ?? '')) return [field];
    if (nameInside(field) === '') return [];
    const same = owners.get(nameInside(field)) ?? [];
    if (same.length < names.length) return [field];
    const name = [...path.map(kebab), word, kebab(nameInside(field))].join('.');
    return field === same[0] ? [{ ...field, name }] : [];
  });
}

function isBelow(field: ApiFlag, path: readonly string[]): boolean {
  return pathOf(field).length > path.length && path.every((part, at) => pathOf(field)[at] === part);
}

function pathOf({ target }: ApiFlag): readonly string[] {
  return target.in === 'body' ? target.path : [];
}

function allNote(operation: OperationDescription): string {
  const names = COMMON_FLAGS.map((flag) => flagText({ ...flag, hint: '' })).join(', ');
  return paragraph(
    `And the flags of every verb: ${names}. Run postern api ${commandOf(operation)} --help --all for the descriptions of all flags.`,
  );
}

function nestedNote(flags: readonly ApiFlag[]): string {
  const shown = new Set(shownFields(flags));
  const hidden = flags.find((flag) => flag.target.in === 'body' && !shown.has(flag));
  if (hidden === undefined) return '';
  const module = kebab(objectOf(hidden));
  return `\n${paragraph(`The fields of each object are flags too, such as --${hidden.name}. The help of the module describes them: postern api ${module} replace --help.`)}\n`;
}

function objectOf({ target }: ApiFlag): string {
  return target.in === 'body' ? (target.path[0] ?? '') : '';
}

function depthOf({ target }: ApiFlag): number {
  return target.in === 'body' ? target.path.length : 1;
}

/** `api --help` lists what each resource is; the help of the resource has the rest. */
function firstSentence(text: string): string {
  return /^.*?[.](?= [A-Z]|$)/s.exec(text)?.[0] ?? text;
}

function commandOf(operation: OperationDescription): string {
  return `${kebab(resourceName(operation))} ${verbWord(operation)}`;
}

/** The path's flags are required, but their values may come without the flag. */
function rowOf(flag: ApiFlag): HelpRow {
  const { name, kind, target, isRequired } = flag;
  const left = kind === 'switch' && target.in === 'body' ? `--[no-]${name}` : flagText(flag);
  return [left, flagDescription({ ...flag, isRequired: isRequired === true && target.in === 'body' })];
}

/** Based on the same example as the API's documentation. */
function exampleOf(operation: OperationDescription, flags: readonly ApiFlag[]): string {
  const ids = flags.filter(({ target }) => target.in === 'path').map(({ name, hint }) => `--${name} ${hint}`);
  const fields = takesFields(operation) ? exampleFlags(operation.body?.example ?? {}, flags) : [];
  return ['postern api', commandOf(operation), ...ids, ...fields].join(' ');
}

function exampleFlags(example: JsonObject, flags: readonly ApiFlag[]): readonly string[] {
  return Object.entries(example).map(([field, value]) => {
    const flag = flags.find(({ target }) => target.in === 'body' && target.path.join('.') === field);
    // A field with the name of a command's own flag has none.
    if (flag === undefined) return `--set ${shellWord(`${field}=${JSON.stringify(value)}`)}`;
    if (flag.kind === 'switch') return `--${value === true ? '' : 'no-'}${flag.name}`;
    return `--${flag.name} ${shellWord(flag.isSecret === true ? '@FILE' : exampleText(value))}`;
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
