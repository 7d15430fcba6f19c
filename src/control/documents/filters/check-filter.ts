import type { ASTNode } from '@marcbachmann/cel-js';
import type { TSchema } from 'typebox';
import { isObjectSchema } from '../../../kit/schema/schema-facts.ts';
import { didYouMean } from '../../../kit/text/near-match.ts';
import { resourceErrors } from '../../resources/errors.ts';

const COMPARISONS = new Set(['==', '!=', '<', '<=', '>', '>=']);
const TEXT_METHODS = new Set(['startsWith', 'endsWith', 'contains']);
const TIME_METHODS = new Set(['add', 'subtract']);
const MAX_LISTED_FIELDS = 40;
/** V8 searches for texts up to 250 characters in linear time; a longer one took 230 ms in a body of 512 KiB. */
const MAX_SEARCHED = 200;

type Type = ScalarType | 'time' | 'null' | 'list' | null;

/**
 * Allows the operations whose cost is linear in the size of an item, and the fields that the list has. So there are no
 * macros, regular expressions and arithmetic, and lists and objects are compared only with what the filter contains.
 */
export function checkFilter(root: ASTNode, item: Known): void {
  const type = typeOf(root, item);
  if (type !== null && type !== 'boolean') throw invalidFilter('must be true or false for an item', root);
}

function typeOf(node: ASTNode, item: Known): Type {
  const { op } = node;
  const args = node.args as never;
  if (op === 'value') return literalType(args);
  if (op === '-_') return negative(node, args);
  if (op === 'id' || op === '.' || op === '[]') return typeOfPath(node, item);
  if (op === 'list') return literalList(args);
  if (op === '!_') return condition([args], item);
  if (op === '&&' || op === '||') return condition(args, item);
  if (op === 'in') return membership(args, item);
  if (op === 'call') return call(node, args, item);
  if (op === 'rcall') return method(node, args, item);
  if (COMPARISONS.has(op)) return comparison(node, args, item);
  throw invalidFilter(
    op === 'map' ? 'an object cannot be compared: compare its members' : `"${op}" is not supported`,
    node,
  );
}

function literalType(value: unknown): Type {
  if (value === null) return 'null';
  if (typeof value === 'bigint' || typeof value === 'number') return 'number';
  return typeof value === 'string' || typeof value === 'boolean' ? (typeof value as ScalarType) : null;
}

function negative(node: ASTNode, operand: ASTNode): Type {
  if (operand.op !== 'value' || literalType(operand.args) !== 'number')
    throw invalidFilter('"-" is supported before a number only', node);
  return 'number';
}

function literalList(items: readonly ASTNode[]): Type {
  for (const item of items) if (!isLiteral(item)) throw invalidFilter('a list may contain literals only', item);
  return 'list';
}

function isLiteral(node: ASTNode): boolean {
  return node.op === 'value' || node.op === '-_';
}

function condition(operands: readonly ASTNode[], item: Known): Type {
  for (const operand of operands) {
    const type = typeOf(operand, item);
    if (type !== null && type !== 'boolean') throw invalidFilter('must be true or false', operand);
  }
  return 'boolean';
}

function comparison(node: ASTNode, [left, right]: readonly [ASTNode, ASTNode], item: Known): Type {
  const types = [typeOf(left, item), typeOf(right, item)];
  const isBounded = [left, right].some((side) => !isPath(side)) || types.every((type) => type !== null);
  if (!isBounded) throw invalidFilter('a list or an object can be compared with a literal only', node);
  const isEquality = node.op === '==' || node.op === '!=';
  if (!isEquality && types.some((type) => type === 'null' || type === 'list'))
    throw invalidFilter(`"${node.op}" compares numbers, texts and times`, node);
  const [a, b] = types.map((type) => (type === 'time' ? 'string' : type));
  const canBeEqual = a === b || a === null || b === null || (isEquality && types.includes('null'));
  if (!canBeEqual) throw invalidFilter(`compares a ${types[0]} with a ${types[1]}`, node);
  return 'boolean';
}

function membership([one, list]: readonly [ASTNode, ASTNode], item: Known): Type {
  const type = typeOf(one, item);
  if (!isLiteral(one) && (type === null || type === 'list'))
    throw invalidFilter('the left side of "in" must be a literal or a field with a single value', one);
  typeOf(list, item);
  if (list.op !== 'list' && !isPath(list)) throw invalidFilter('the right side of "in" must be a list', list);
  return 'boolean';
}

function call(node: ASTNode, [name, args]: readonly [string, readonly ASTNode[]], item: Known): Type {
  const [argument] = args;
  if (argument === undefined || args.length > 1 || !['size', 'has', 'timestamp'].includes(name))
    throw invalidFilter(`"${name}" is not supported: use size(field), has(field) and timestamp(time)`, node);
  if (name === 'timestamp') return timestamp(argument, item);
  if (!isPath(argument)) throw invalidFilter(`${name}() needs a field`, argument);
  typeOf(argument, item);
  return name === 'has' ? 'boolean' : 'number';
}

function timestamp(argument: ASTNode, item: Known): Type {
  const isText = argument.op === 'value' && typeof argument.args === 'string';
  if (isText && Number.isNaN(Date.parse(argument.args as string)))
    throw invalidFilter('must be a time as in RFC 3339, such as "2026-11-01T09:30:00Z"', argument);
  if (!isText && !isPath(argument)) throw invalidFilter('timestamp() needs a text, a field or time.now', argument);
  if (!isText) typeOf(argument, item);
  return 'time';
}

function method(
  node: ASTNode,
  [name, receiver, args]: readonly [string, ASTNode, readonly ASTNode[]],
  item: Known,
): Type {
  const [argument] = args;
  if (name === 'size' && argument === undefined && isPath(receiver)) {
    typeOf(receiver, item);
    return 'number';
  }
  const text = argument?.op === 'value' && args.length === 1 ? argument.args : undefined;
  if (TIME_METHODS.has(name) && receiver.op === 'call' && typeOf(receiver, item) === 'time') {
    if (typeof text !== 'string' || durationMs(text) === null)
      throw invalidFilter(`${name}() needs a duration such as "90s", "12h" or "7d"`, argument ?? node);
    return 'time';
  }
  if (!TEXT_METHODS.has(name) || !isPath(receiver))
    throw invalidFilter(`"${name}" is not supported here: use startsWith, endsWith and contains of a field`, node);
  if (typeof text !== 'string') throw invalidFilter(`${name}() needs one text`, argument ?? node);
  if (text.length > MAX_SEARCHED)
    throw invalidFilter(`${name}() needs a text of at most ${MAX_SEARCHED} characters`, argument ?? node);
  const type = typeOf(receiver, item);
  if (type !== null && type !== 'string') throw invalidFilter(`${name}() needs a field with a text`, receiver);
  return 'boolean';
}

function isPath(node: ASTNode): boolean {
  return node.op === 'id' || node.op === '.' || node.op === '[]';
}

function typeOfPath(node: ASTNode, item: Known): Type {
  if (isNow(node)) return 'time';
  return scalarType(schemaAt(node, item));
}

function isNow({ op, args }: ASTNode): boolean {
  if (op !== '.') return false;
  const [owner, name] = args as readonly [ASTNode, string];
  return name === 'now' && owner.op === 'id' && (owner.args as unknown) === 'time';
}

function schemaAt(node: ASTNode, item: Known): Known {
  if (node.op === 'id') {
    if ((node.args as unknown) === 'obj') return item;
    throw invalidFilter(`"${String(node.args)}" is unknown: fields start with "obj."`, node);
  }
  const [owner, member] = node.args as unknown as readonly [ASTNode, string | ASTNode];
  if (!isPath(owner)) throw invalidFilter('only "obj" has fields', owner);
  const known = schemaAt(owner, item);
  const name = typeof member === 'string' ? member : indexOf(member);
  const found = memberOf(known, name);
  if (found !== 'unknown') return found;
  const names = memberNames(known);
  const listed = names.length <= MAX_LISTED_FIELDS ? ` Known: ${names.join(', ')}.` : '';
  throw invalidFilter(
    `"${String(name).slice(0, 64)}" is not a field here.${didYouMean(String(name), names)}${listed}`,
    node,
  );
}

function indexOf(member: ASTNode): string | number {
  const value = member.op === 'value' ? (member.args as unknown) : undefined;
  if (typeof value === 'string') return value;
  if (typeof value === 'bigint') return Number(value);
  throw invalidFilter('must be a text or a whole number', member);
}

interface Keywords {
  readonly type?: string;
  readonly anyOf?: readonly TSchema[];
  readonly items?: TSchema;
}

/** What is known about the value at a place of a document: its schema, or nothing. */
export type Known = TSchema | null;

/** The schema of a member; `unknown` if the document never has it. */
function memberOf(known: Known, name: string | number): Known | 'unknown' {
  const schema = withoutNull(known);
  if (schema === null) return null;
  if (typeof name === 'number') return (schema as Keywords).items ?? null;
  if (!isObjectSchema(schema) || Object.keys(schema.properties).length === 0) return null;
  return Object.hasOwn(schema.properties, name) ? (schema.properties[name] as TSchema) : 'unknown';
}

function memberNames(known: Known): readonly string[] {
  const schema = withoutNull(known);
  return schema !== null && isObjectSchema(schema) ? Object.keys(schema.properties) : [];
}

type ScalarType = 'string' | 'number' | 'boolean';

/** The type of a scalar; null if it is not one, or may be of several types. */
function scalarType(known: Known): ScalarType | null {
  const { type, enum: values } = (withoutNull(known) ?? {}) as Keywords & { readonly enum?: readonly unknown[] };
  if (type === 'integer' || type === 'number') return 'number';
  if (type === 'string' || type === 'boolean') return type;
  return values?.every((value) => typeof value === 'string') === true ? 'string' : null;
}

function withoutNull(known: Known): Known {
  const options = (known as Keywords | null)?.anyOf;
  if (options === undefined) return known;
  const others = options.filter((option) => (option as Keywords).type !== 'null');
  return others.length === 1 ? (others[0] ?? null) : null;
}

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** Milliseconds of a duration such as "90s", "12h" or "7d"; null unless it is one. */
export function durationMs(text: string): number | null {
  const [, count, unit = ''] = /^(\d{1,6})([smhdw])$/.exec(text) ?? [];
  return count === undefined ? null : Number(count) * (UNIT_MS[unit] ?? 0);
}

const PAGE = 'docs/reference/filters.md';

/** `at`: a node of the expression, or a range in it. */
export function invalidFilter(
  problem: string,
  at: { readonly start?: number; readonly pos?: number } | undefined,
): Error {
  const position = String((at?.start ?? at?.pos ?? 0) + 1);
  return resourceErrors.create(
    'ERR_POSTERN_INVALID_QUERY',
    `filter: character ${position}: ${problem}${/[.]$/.test(problem) ? '' : '.'} ${PAGE} describes filters`,
    { details: { parameter: 'filter', position } },
  );
}
