import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { wireSchema } from '../../src/control/api/openapi/schema-components.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/kit/json.ts';
import { makeDocument } from './openapi-document.ts';

/**
 * Rules without which openapi-generator 7.25 stops, or makes clients that do not compile.
 * test/long/generated-clients.test.ts compiles and uses the clients.
 */
type Rule = (schema: JsonObject, isOption: boolean) => boolean;

const document = JSON.parse(JSON.stringify(makeDocument())) as JsonObject;
const SCALARS = ['string', 'number', 'integer', 'boolean'];
const TYPES = [...SCALARS, 'array', 'object'];

const rules: Readonly<Record<string, Rule>> = {
  'a type "null" has another type beside it': (schema, isOption) => schema['type'] === 'null' && !isOption,
  'a union has no lists beside other values': ({ anyOf }) => {
    const types = new Set(optionsOf(anyOf).map(({ type, $ref }) => ($ref === undefined ? type : 'object')));
    types.delete('null');
    return types.has('array') && types.size > 1;
  },
  'a union has no objects beside scalars': ({ anyOf }) => {
    const types = optionsOf(anyOf).map(({ type, $ref }) => ($ref === undefined ? type : 'object'));
    return types.includes('object') && types.some((type) => SCALARS.includes(type as string));
  },
  'a default is a scalar or a list of scalars': ({ default: value }) =>
    isJsonObject(value) || (Array.isArray(value) && value.some((item) => typeof item === 'object')),
  'a list of types is one type and "null"': ({ type }) =>
    Array.isArray(type) && !(type.length === 2 && type[1] === 'null' && TYPES.includes(type[0] as string)),
  'unions are written as anyOf': (schema) => 'oneOf' in schema,
  'an object in parts is one named object and one with the rest': ({ allOf }) =>
    allOf !== undefined && (optionsOf(allOf).length !== 2 || !('$ref' in (optionsOf(allOf)[0] ?? {}))),
  'a union has at least two options': ({ anyOf }) => anyOf !== undefined && optionsOf(anyOf).length < 2,
  'an enumeration states its type': ({ enum: values, type }) => values !== undefined && type === undefined,
  'a list describes its items': ({ type, items }) => type === 'array' && items === undefined,
  'an object does not mix fields and patterns': (schema) => 'patternProperties' in schema,
};

for (const [rule, isBroken] of Object.entries(rules)) {
  test(`in the whole document, ${rule}`, () => {
    const broken: string[] = [];
    let count = 0;
    schemasIn(document, '', (schema, path, isOption) => {
      count += 1;
      if (isBroken(schema, isOption)) broken.push(path);
    });
    assert.deepEqual(broken, []);
    assert.ok(count > 1000, `${count} schemas`);
  });
}

test('in an update, lists and maps can be null, so that clients need not send those that are not set', () => {
  const { schemas } = document['components'] as { readonly schemas: Readonly<Record<string, JsonObject>> };
  const updates = Object.entries(schemas).filter(([name]) => name.endsWith('Update'));
  const containers = updates.flatMap(([name, { properties }]) =>
    Object.entries(properties as Readonly<Record<string, JsonObject>>)
      .filter(
        ([, { items, additionalProperties }]) => items !== undefined || isJsonObject(additionalProperties ?? null),
      )
      .map(([field, { type }]) => [`${name}.${field}`, Array.isArray(type) && type.includes('null')] as const),
  );
  assert.deepEqual(
    containers.filter(([, isNullable]) => !isNullable),
    [],
  );
  assert.ok(containers.length > 5);
});

test('the webhook and its events refer to named schemas, because openapi-generator simplifies only those', () => {
  const document = makeDocument();
  const schema = document.webhooks['event']?.post?.requestBody?.content['application/json']?.schema ?? {};
  assert.deepEqual(Object.keys(schema), ['$ref']);
  const { anyOf } = document.components.schemas['Event'] ?? assert.fail();
  for (const event of optionsOf(anyOf)) assert.deepEqual(Object.keys(event), ['$ref']);
});

test('clients get no method for the webhook, which openapi-generator writes without types over those of its tag', () => {
  const post = makeDocument().webhooks['event']?.post;
  assert.equal(post?.['x-internal'], true);
  assert.deepEqual(post.tags, []);
});

test('a value or a list of such values is documented as a list, any other mixture as any value', () => {
  const text = Type.String({ maxLength: 5 });
  const list = { type: 'array', items: { type: 'string', maxLength: 5 }, maxItems: 2, description: 'd' };
  assert.deepEqual(wireSchema(Type.Union([text, Type.Array(text, { maxItems: 2 })], { description: 'd' })), list);
  assert.deepEqual(wireSchema(Type.Union([Type.Number(), Type.Array(text)], { description: 'd' })), {
    description: 'd',
  });
  assert.deepEqual(wireSchema(Type.Union([Type.Array(Type.Number()), Type.Null()]))['anyOf'], [
    { type: 'array', items: { type: 'number' } },
    { type: 'null' },
  ]);
});

function optionsOf(anyOf: JsonValue | undefined): readonly JsonObject[] {
  return (anyOf ?? []) as readonly JsonObject[];
}

/** Calls `see` with every schema of the document, and whether it is one of several options. */
function schemasIn(
  value: JsonValue,
  path: string,
  see: (schema: JsonObject, path: string, isOption: boolean) => void,
): void {
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) schemasIn(item as JsonValue, `${path}/${index}`, see);
    return;
  }
  if (!isJsonObject(value)) return;
  const isSchema = /\/(schema|items|additionalProperties|(properties|schemas|anyOf|oneOf|allOf)\/[^/]+)$/.test(path);
  if (isSchema && !path.includes('/example')) see(value, path, /\/anyOf\/\d+$/.test(path));
  for (const [name, inner] of Object.entries(value)) schemasIn(inner, `${path}/${name}`, see);
}
