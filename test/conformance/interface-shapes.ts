import assert from 'node:assert/strict';
import { type FieldRow, fieldsOf } from './interface-document.ts';

type Check = (value: unknown, at: string) => void;

const MAX_UINT32 = 2 ** 32 - 1;

const checkRef: Check = (value, at) => {
  assert.deepEqual(Object.keys(value as object).sort(), ['id', 'uri'], `${at} is a Ref: id and uri`);
  for (const [name, part] of Object.entries(value as object)) assert.equal(typeof part, 'string', `${at}.${name}`);
};

const listOf =
  (check: Check): Check =>
  (value, at) => {
    assert.ok(Array.isArray(value), `${at} is a list`);
    for (const [index, item] of value.entries()) check(item, `${at}.${index}`);
  };

const typed =
  (type: string): Check =>
  (value, at) =>
    assert.equal(typeof value, type, at);

/** The types used in the interface's tables. */
const CHECKS: Readonly<Record<string, Check>> = {
  boolean: typed('boolean'),
  string: typed('string'),
  uint32: (value, at) =>
    assert.ok(
      Number.isInteger(value) && (value as number) >= 0 && (value as number) <= MAX_UINT32,
      `${at} is a uint32`,
    ),
  'List<string>': listOf(typed('string')),
  Ref: checkRef,
  'List of Ref': listOf(checkRef),
  'Map<string,string>': (value, at) => {
    for (const [name, each] of Object.entries(value as object)) assert.equal(typeof each, 'string', `${at}.${name}`);
  },
  'array of Tunnel': listOf((value) => assertShape('Tunnel', value)),
  'array of EventSource': listOf((value) => assertShape('Event source', value)),
};

export type ShapeName =
  | 'OIDC module'
  | 'Backend module'
  | 'Compression module'
  | 'Mutual TLS module'
  | 'Tunnel'
  | 'Tunnel list envelope'
  | 'Event source'
  | 'Event source list envelope';

const TABLES: Readonly<Record<ShapeName, readonly FieldRow[]>> = {
  'OIDC module': fieldsOf('2.1'),
  'Backend module': fieldsOf('2.2'),
  'Compression module': fieldsOf('2.3'),
  'Mutual TLS module': fieldsOf('2.4'),
  Tunnel: fieldsOf('2.5', 'Tunnel').filter((row) => row.heading === 'Tunnel'),
  'Tunnel list envelope': fieldsOf('2.5', 'Tunnel list envelope'),
  'Event source': fieldsOf('2.6', 'Event source').filter((row) => row.heading === 'Event source'),
  'Event source list envelope': fieldsOf('2.6', 'Event source list envelope'),
};

/** "Fields are omitted from a response when they do not apply": these may be. */
const MAY_BE_ABSENT = new Set(['public_url', 'proto', 'endpoint', 'labels', 'backends']);

const seen = new Set<string>();

/** Every field of the interface's table with its type, none that is for requests only, and none beyond the table. */
export function assertShape(shape: ShapeName, body: unknown): void {
  const rows = TABLES[shape].filter((row) => !row.meaning.startsWith('Request only'));
  const known = rows.map((row) => row.field);
  for (const field of Object.keys(body as object)) assert.ok(known.includes(field), `${field} is a field of ${shape}`);
  for (const { field, type, meaning } of rows) {
    const value = (body as Record<string, unknown>)[field];
    if (value === undefined && shape === 'Tunnel' && MAY_BE_ABSENT.has(field)) continue;
    seen.add(`${shape}: ${field}`);
    if (value === null && meaning.includes('or null')) continue;
    const check = CHECKS[type];
    assert.ok(check, `the walk knows the type ${type}`);
    check(value, `${shape}.${field}`);
  }
}

/** Fields of the tables that no response has shown so far. */
export function unseenFields(): readonly string[] {
  return Object.entries(TABLES).flatMap(([shape, rows]) =>
    rows
      .filter((row) => !row.meaning.startsWith('Request only'))
      .map((row) => `${shape}: ${row.field}`)
      .filter((name) => !seen.has(name)),
  );
}

/** Every Ref anywhere in a response. */
export function refsIn(value: unknown): readonly { readonly id: string; readonly uri: string }[] {
  if (Array.isArray(value)) return value.flatMap(refsIn);
  if (typeof value !== 'object' || value === null) return [];
  const { id, uri } = value as Record<string, unknown>;
  if (typeof id === 'string' && typeof uri === 'string' && Object.keys(value).length === 2) return [{ id, uri }];
  return Object.values(value).flatMap(refsIn);
}
