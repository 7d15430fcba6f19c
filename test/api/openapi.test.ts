import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import type { TObject } from 'typebox';
import { operationsAt } from '../../src/api/openapi/document.ts';
import { takesBody } from '../../src/api/request-body.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/lib/json.ts';
import { createDecoder } from '../../src/lib/schema/decode-body.ts';
import {
  catalog,
  DocumentChecker,
  documentedOperations,
  errorCodesOf,
  makeDocument,
  operations,
  resolve,
  successOf,
} from './openapi-document.ts';

/** Three times less than the same document with everything where it is used. */
const MAX_LENGTH = 550_000;

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
    const described = resolve<JsonObject>(document, value);
    if ((value['description'] ?? described['description'] ?? '') === '') missing.push(path.join('.'));
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

test('every error code of a response has an example, which matches the response and its status', () => {
  const { examples } = document.components;
  for (const { id, responses } of documented) {
    for (const [status, response] of responses) {
      for (const code of errorCodesOf(response)) {
        const { value } = examples[code] ?? assert.fail(code);
        const { schema } = response.content?.['application/json'] ?? assert.fail(id);
        assert.deepEqual(checker.problems(schema, value), [], `${id} ${status}`);
        if (status !== 'default') assert.equal(value['status_code'], status);
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
    const statuses = new Set(shared.map((code) => document.components.examples[code]?.value['status_code']));
    const expected = [400, 401, 403, 429, 500, 503, ...(method === 'GET' ? [] : [507])];
    assert.deepEqual(
      expected.filter((status) => !statuses.has(status)),
      [],
      id,
    );
  }
});

test('the document stays small enough to be read by people and programs', () => {
  const text = readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8');
  assert(text.length < MAX_LENGTH, `${text.length} characters: share what the change repeats`);
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

test('every operation has a description, and no list declares another spelling of before_id', () => {
  const described = Object.values(makeDocument().paths).flatMap((item) => operationsAt(item).map(([, each]) => each));
  assert.deepEqual(
    described.filter((each) => !each.description).map((each) => each.operationId),
    [],
  );
  assert.ok(!JSON.stringify(described).includes('beforeId'));
});
