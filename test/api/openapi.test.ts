import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import type { TObject, TSchema } from 'typebox';
import { operationsAt } from '../../src/control/api/openapi/document.ts';
import { wireSchema } from '../../src/control/api/openapi/schema-components.ts';
import { takesBody } from '../../src/control/api/request-parts.ts';
import type { ErrorCode } from '../../src/kit/errors.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/kit/json.ts';
import { createDecoder } from '../../src/kit/schema/decode-body.ts';
import {
  catalog,
  DocumentChecker,
  documentedOperations,
  errorCodesOf,
  errorRows,
  fieldDescription,
  makeDocument,
  operations,
  resolve,
  successOf,
} from './openapi-document.ts';

/** For each operation: a ninth of the same document with everything where it is used. */
const MAX_BYTES = 1_700;

const document = makeDocument();
const plain = JSON.parse(JSON.stringify(document)) as JsonObject;
const documented = documentedOperations(document);
const checker = new DocumentChecker(document, 'closed');

test('the document is valid OpenAPI 3.1', async () => {
  const validator = new Validator();
  const result = await validator.validate(structuredClone(plain));
  assert.deepEqual(result, { valid: true });
  assert.equal(validator.version, '3.1');
});

test('every registered operation is in the document, and nothing else but the public pages', () => {
  const pages = [
    'GET /docs docs.get',
    'GET /healthz health.get',
    'GET /metrics metrics.get',
    'GET /openapi.json openapi.get',
  ];
  const registered = operations.map(({ method, path, resource, verb }) => `${method} ${path} ${resource}.${verb}`);
  const found = documented.map(({ method, path, id }) => `${method} ${path} ${id}`);
  assert.deepEqual(found.sort(), [...registered, ...pages].sort());
});

test('operation ids have one style: resource, module and verb in snake_case, with dots between them', () => {
  const ids = documented.map(({ id }) => id);
  assert.deepEqual(
    ids.filter((id) => !/^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*){1,2}$/.test(id)),
    [],
  );
  assert.equal(new Set(ids).size, ids.length);
});

test('every reference in the document resolves', () => {
  let count = 0;
  walk(plain, (value) => {
    if (typeof value['$ref'] !== 'string') return;
    resolve(document, value);
    count += 1;
  });
  assert.ok(count > 100);
});

test('the answer of every list has rows, also beside a resource whose name ends with "List"', () => {
  const { paths } = plain as { paths: Record<string, Record<string, JsonObject>> };
  const without = Object.entries(paths).flatMap(([path, { get }]) => {
    if (get === undefined || !/\.list$/.test(get['operationId'] as string)) return [];
    const { 200: answer = {} } = get['responses'] as Record<string, object>;
    const { content } = resolve<{ content: Record<string, { schema: JsonObject }> }>(document, answer);
    const schema = resolve<JsonObject>(document, content['application/json']?.schema as JsonObject);
    const fields = Object.values((schema['properties'] ?? {}) as JsonObject) as JsonObject[];
    return fields.some((field) => isJsonObject(field['items'])) ? [] : [path];
  });
  assert.deepEqual(without, []);
});

test('every field, parameter and header has a description', () => {
  const missing: string[] = [];
  walk(plain, (value, path) => {
    const isProperty = path.at(-2) === 'properties' && !path.includes('responses') && !path.includes('example');
    const isNamed = ['parameters', 'headers'].includes(path.at(-2) ?? '') && !path.includes('schemas');
    if (!isProperty && !isNamed) return;
    // The schema of any event says what these two are, and the response of a list what its rows are.
    if (path.includes('allOf') && ['event_type', 'object'].includes(path.at(-1) ?? '')) return;
    if (value['type'] === 'array' && /(?:List|Page)$/.test(path.at(-3) ?? '')) return;
    const schema = path.at(-4) === 'schemas' ? (path.at(-3) as string) : null;
    if (fieldDescription(document, schema, path.at(-1) as string, value) === '') missing.push(path.join('.'));
  });
  assert.deepEqual(missing, []);
});

test('every tag is described and used', () => {
  const used = new Set(
    Object.values(document.paths).flatMap((item) => operationsAt(item).flatMap(([, { tags }]) => tags)),
  );
  assert.deepEqual(new Set(document.tags.map((tag) => tag.name)), used);
  assert.ok(document.tags.every((tag) => tag.description !== '' && tag['x-displayName'] !== ''));
});

test('every example body matches its documented schema, and is accepted by the decoder', () => {
  for (const operation of operations) {
    const id = `${operation.resource}.${operation.verb}`;
    const described = documented.find((each) => each.id === id);
    if (!takesBody(operation)) {
      assert.equal(described?.requestSchema, undefined, id);
      continue;
    }
    const { body } = operation;
    assert.deepEqual(checker.problems(described?.requestSchema as JsonObject, body.example), [], id);
    // Where the operation decodes the body itself, the live test sends the example.
    if (body.isDecodedByOperation === true) continue;
    const decoded = createDecoder(body.schema as TObject).decode(body.example);
    assert.ok(decoded.ok, `${id}: ${JSON.stringify(decoded)}`);
  }
});

test('every success has an example, which matches its schema and omits no field that it could show', () => {
  for (const operation of documented) {
    const { id } = operation;
    const [status, response] = successOf(operation);
    const media = response.content?.['application/json'];
    // A list shows the example of its items.
    if (media === undefined || id === 'openapi.get' || id.endsWith('.list')) continue;
    const [own] = (resolve<JsonObject>(document, media.schema)['examples'] ?? []) as readonly JsonValue[];
    const example = media.example ?? own;
    assert.notEqual(example, undefined, id);
    assert.deepEqual(checker.problems(media.schema, example), [], `${id} ${status}`);
  }
});

test('every error code of a response has its status, and is explained at the schema of errors', () => {
  const explained = `${document.components.schemas['Error']?.['description'] as string}\n`;
  for (const { id, responses } of documented) {
    for (const [status, response] of responses) {
      for (const code of errorCodesOf(response)) {
        const { status: own, explanation } = errorRows[code as ErrorCode] ?? assert.fail(code);
        assert.ok(explained.includes(`\n- \`${code}\` (${own}): ${explanation.split(/(?<=\.) (?=[A-Z])/)[0]}\n`), code);
        const error = { error_code: code, status_code: own, msg: explanation, details: { operation_id: 'op_1' } };
        const { schema } = response.content?.['application/json'] ?? assert.fail(id);
        assert.deepEqual(checker.problems(schema, error), [], `${id} ${status}`);
        if (status !== 'default') assert.equal(own, status);
      }
    }
  }
});

test('every id in an example is well-formed and of a known kind', () => {
  const ids = JSON.stringify(plain).match(/\b[a-z]+_2zXAMPLE\w*/g) ?? [];
  assert.ok(ids.length > 100);
  // Operations, events and accounts are not resources.
  const others = new Set(['op', 'ev', 'ac']);
  const wrong = ids.filter(
    (id) => !/_\w{27}$/.test(id) || (catalog.kindOfId(id) === null && !others.has(id.split('_')[0] ?? '')),
  );
  assert.deepEqual([...new Set(wrong)], []);
});

test('every operation lists the errors that all of them share', () => {
  for (const { id, method, responses } of documented.filter(
    (each) => !['docs', 'health', 'metrics', 'openapi'].includes(each.id.split('.')[0] ?? ''),
  )) {
    const shared = errorCodesOf(responses.get('default') ?? assert.fail(id));
    const statuses = new Set(shared.map((code) => errorRows[code as ErrorCode]?.status));
    const expected = [400, 401, 403, 429, 500, 503, ...(method === 'GET' ? [] : [507])];
    assert.deepEqual(
      expected.filter((status) => !statuses.has(status)),
      [],
      id,
    );
  }
});

test('the document stays small enough to be read by people and programs', () => {
  const { length } = readFileSync(new URL('../../openapi.json', import.meta.url));
  const perOperation = length / documented.length;
  assert(perOperation < MAX_BYTES, `${perOperation} bytes for each operation: share what the change repeats`);
});

function walk(
  value: JsonValue,
  visit: (value: JsonObject, path: readonly string[]) => void,
  path: readonly string[] = [],
): void {
  if (Array.isArray(value)) {
    for (const [index, item] of (value as readonly JsonValue[]).entries()) walk(item, visit, [...path, String(index)]);
    return;
  }
  if (!isJsonObject(value)) return;
  visit(value, path);
  for (const [key, inner] of Object.entries(value)) walk(inner, visit, [...path, key]);
}

test('every operation is described: by itself, by its tag or by the rules of the introduction', () => {
  const introduction = document.info['description'] as string;
  const described = Object.values(document.paths).flatMap((item) => operationsAt(item).map(([, each]) => each));
  const shown = new Map(described.map((each) => [each.operationId, each.description ?? '']));
  const lost = operations.flatMap(({ resource, verb, description = '' }) => {
    const id = `${resource}.${verb}`;
    const tag = document.tags.find(({ name }) => name === resource)?.description ?? assert.fail(id);
    const rest = [tag, shown.get(id) ?? assert.fail(id)].reduce(
      (text, said) => text.replace(said, '').trim(),
      description,
    );
    return description === '' || !(rest === '' || introduction.includes(`: ${rest}`)) ? [id] : [];
  });
  assert.deepEqual(lost, []);
  assert.ok(!JSON.stringify(described).includes('beforeId'));
});

test('bodies and responses are exactly the schemas of the operations, once every reference is followed', () => {
  let count = 0;
  for (const operation of operations) {
    const id = `${operation.resource}.${operation.verb}`;
    const described = documented.find((each) => each.id === id) ?? assert.fail(id);
    if (described.requestSchema !== undefined && operation.body !== undefined) {
      const { schema } = operation.body;
      const own = operation.verb === 'update' ? withNullableContainers(wireSchema(schema)) : wireSchema(schema);
      assert.deepEqual(bare(described.requestSchema), bare(own), id);
      count += 1;
    }
    const shown = successOf(described)[1].content?.['application/json']?.schema;
    if (operation.success.schema === null) assert.equal(shown, undefined, id);
    else assert.deepEqual(bare(shown ?? assert.fail(id)), bare(wireSchema(readSchemaOf(operation))), id);
    count += 1;
  }
  assert.ok(count > 250);
});

const LIVE_FIELDS = new Set(
  catalog.resources.flatMap((each) => (each.type === 'configuration' ? Object.keys(each.live?.schema ?? {}) : [])),
);

/** Without what does not decide which values are valid, and with the targets of references in their place. */
function bare(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return (value as readonly JsonValue[]).map(bare);
  if (!isJsonObject(value)) return value;
  if ('$ref' in value) return bare(resolve<JsonObject>(document, value));
  const deciding = Object.entries(value).filter(([key]) => !/^(description|examples|default|x-.*)$/.test(key));
  const fields = deciding.map(([key, part]): [string, JsonValue] => {
    // Events show what is stored: live fields may be absent there.
    if (key === 'required') return [key, (part as readonly string[]).filter((name) => !LIVE_FIELDS.has(name))];
    if (key !== 'properties') return [key, bare(part)];
    return [key, Object.fromEntries(Object.entries(part as JsonObject).map(([name, field]) => [name, bare(field)]))];
  });
  return Object.fromEntries(fields);
}

/** A create may show values that reads return as null: the document has one schema for both. */
function readSchemaOf({ resource, verb, success }: (typeof operations)[number]): TSchema {
  const shownOnce = catalog.resources.some(
    (each) => each.name === resource && each.type === 'configuration' && each.shownOnce !== undefined,
  );
  const read = operations.find((each) => each.resource === resource && each.verb === 'get');
  return (verb === 'create' && shownOnce ? read : { success })?.success.schema ?? assert.fail(resource);
}

/** Null in an update means "unchanged", which lists and maps say. */
function withNullableContainers(schema: JsonObject): JsonObject {
  const fields = Object.entries(schema['properties'] as Readonly<Record<string, JsonObject>>).map(([name, field]) => {
    const isContainer = field['type'] === 'array' || isJsonObject(field['additionalProperties']);
    return [name, isContainer ? { ...field, type: [field['type'], 'null'] } : field];
  });
  return { ...schema, properties: Object.fromEntries(fields) as JsonObject };
}
