// Process of API inputs: takes long, so it starts early.
import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import type { Operation } from '../../src/control/resources/operation.ts';
import type { JsonValue } from '../../src/kit/json.ts';
import { shareOfCases } from '../support/share-of-cases.ts';
import { type ApiAnswer, type RequestOptions, TestWorld } from '../support/test-world.ts';
import { assertApiError, assertRefused, type ExpectedError } from './api-error.ts';
import {
  bodyOperations,
  FURNISHED_ENV,
  FurnishedWorld,
  nameOf,
  operations,
  prefixAt,
  writeOperations,
} from './furnished-world.ts';
import { newId } from './interface-parents.ts';
import { type FieldSchema, fieldSchema, leastValue, misspelled, wrongValues } from './wrong-values.ts';

type BodyOperation = (typeof bodyOperations)[number];
type Body = Readonly<Record<string, JsonValue>>;

const UNKNOWN_KEY = `Bearer ${'x'.repeat(40)}`;
const MIB = 1_048_576;
let clockOffsetMs = 0;

const world = await TestWorld.open(
  { after },
  { env: FURNISHED_ENV, clock: { nowMs: () => Date.now() + clockOffsetMs } },
);
const furnished = await FurnishedWorld.furnish(world);

function send(operation: Operation, body?: unknown, options?: RequestOptions): Promise<ApiAnswer> {
  return world.api(operation.method, furnished.path(operation), body, options);
}

function refuse(operation: Operation, body: unknown, expected: ExpectedError): Promise<ApiAnswer> {
  return assertRefused(world, () => send(operation, body), expected);
}

function refuseRaw(
  operation: Operation,
  rawBody: string | Uint8Array<ArrayBuffer>,
  expected: ExpectedError,
  options: RequestOptions = {},
) {
  return assertRefused(world, () => send(operation, undefined, { ...options, rawBody }), expected);
}

for (const [subject, operation] of bodyOperations.entries()) {
  suite(`${nameOf(operation)}: ${operation.method} ${operation.path}`, () => {
    test('text that is not a JSON object', async () => {
      const invalid = { status: 400, code: 'ERR_POSTERN_INVALID_JSON' };
      const broken = ['{', '{"enabled":}', "{'enabled': true}", '{"a":1,}', '{"a":NaN}', '{} {}', 'word', '\u0000'];
      for (const text of shareOfCases(broken, subject, 8))
        await refuseRaw(operation, text, { ...invalid, says: 'not valid JSON: send an object such as' });
      for (const text of shareOfCases(['[]', '[{}]', '"word"', '7', 'null', 'true'], subject, 3))
        await refuseRaw(operation, text, { ...invalid, says: 'must be a JSON object, such as' });
      const inherited = [
        '{"__proto__":{"enabled":false}}',
        '{"constructor":{"prototype":{"x":1}}}',
        '{"x":{"__proto__":null}}',
      ];
      for (const text of shareOfCases(inherited, subject, 3)) await refuseRaw(operation, text, invalid);
      await refuseRaw(operation, Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]), {
        ...invalid,
        says: 'UTF-8',
      });
      await refuseRaw(operation, Buffer.from('{"x":"\ud83d\ude00"}', 'utf8').subarray(0, 8), {
        ...invalid,
        says: 'UTF-8',
      });
    });

    test('another content type, or none', async () => {
      const expected = { status: 415, code: 'ERR_POSTERN_CONTENT_TYPE', says: 'send "Content-Type: application/json"' };
      const text = JSON.stringify(furnished.example(operation));
      const types = [
        'text/plain',
        'application/x-www-form-urlencoded',
        'application/jsonx',
        'application/json-seq',
        'nonsense',
        '',
      ];
      for (const type of shareOfCases(types, subject, 6))
        await refuseRaw(operation, text, expected, { headers: { 'content-type': type } });
    });

    test('more than 1 MiB', async () => {
      // Tested on its own: test/changes.
      if (operation.body.maxBytes !== undefined) return;
      const expected = { status: 413, code: 'ERR_POSTERN_BODY_TOO_LARGE', says: '1 MiB' };
      for (const text of shareOfCases([`{"description":"${'x'.repeat(MIB)}"}`, ' '.repeat(MIB + 1)], subject, 2))
        await refuseRaw(operation, text, expected);
    });

    test('deeply nested JSON', async () => {
      const body = JSON.stringify({ ...furnished.example(operation), surely_not_a_field: 'DEEP' });
      // Deep enough for a stack overflow; the parser is the same for every operation.
      const depth = shareOfCases([50_000, 5_000, 5_000], subject, 3)[0] ?? 50_000;
      const deep = `${'[{"a":'.repeat(depth)}1${'}]'.repeat(depth)}`;
      const options = { headers: { 'idempotency-key': `deep ${nameOf(operation)}`.replaceAll(' ', '-') } };
      const expected = { status: 400, code: 'ERR_POSTERN_INVALID_JSON', says: 'nested' };
      await refuseRaw(operation, body.replace('"DEEP"', deep), expected, options);
    });

    test('unknown fields, misspelled ones with a hint', async () => {
      const body = furnished.example(operation);
      const names = Object.keys(schemaOf(operation).properties ?? {});
      const unknown = ['surely_not_a_field', 'toString', 'constructor', 'a/b~c', ' ', '', 'x'.repeat(5000)];
      for (const name of shareOfCases(unknown, subject, 6)) {
        const field = `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
        const answer = await refuse(
          operation,
          { ...body, [name]: 1 },
          { status: 400, code: 'ERR_POSTERN_INVALID_BODY', field, says: 'is not a known field' },
        );
        for (const known of names) assert.ok(answer.body.msg.includes(known), `the message lists ${known}`);
      }
      for (const name of shareOfCases(names, subject, 3).filter(({ length }) => length > 3)) {
        const wrong = misspelled(name);
        await refuse(
          operation,
          { ...body, [wrong]: body[name] ?? true },
          { status: 400, field: `/${wrong}`, says: `Did you mean "${name}"` },
        );
      }
    });

    test('more unknown fields than a validator reports', async () => {
      const many = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`nothing${index}`, 1]));
      const expected = { status: 400, code: 'ERR_POSTERN_INVALID_BODY', says: 'nothing' };
      await refuse(operation, { ...furnished.example(operation), ...many }, { ...expected, field: '/nothing0' });
      for (const { path, schema, inside } of fieldsIn(schemaOf(operation), furnished.example(operation))) {
        if (schema.properties !== undefined)
          await refuse(operation, inside(many), { status: 400, says: path.join('.') });
      }
    });

    test('required fields that are missing or null', async () => {
      const body = furnished.example(operation);
      for (const name of schemaOf(operation).required ?? []) {
        const { [name]: _, ...rest } = body;
        const expected = {
          status: 400,
          code: 'ERR_POSTERN_INVALID_BODY',
          field: `/${name}`,
          says: `${name} is required. `,
        };
        await refuse(operation, rest, expected);
        await refuse(operation, { ...body, [name]: null }, expected);
      }
    });

    test('fields of another type or out of range, at every depth', async () => {
      const body = furnished.example(operation);
      let offered = 0;
      for (const { path, schema, inside } of fieldsIn(schemaOf(operation), body)) {
        const wrong = wrongValues(schema);
        for (const { value, at = '' } of shareOfCases(wrong, subject + offered, 8)) {
          // On a PATCH, an empty value that the field cannot have counts as absent.
          if (operation.method === 'PATCH' && ['[]', '{}'].includes(JSON.stringify(value))) continue;
          const field = `/${path.join('/')}${at}`;
          await refuse(operation, inside(value), { status: 400, field, says: `${path.join('.')}` });
        }
        offered += wrong.length;
      }
      assert.ok(offered > 0 || Object.keys(schemaOf(operation).properties ?? {}).length === 0);
    });

    test('accepts integers at their bounds', async () => {
      if (operation.method === 'POST') return;
      const integers = Object.entries(schemaOf(operation).properties ?? {}).filter(
        ([, field]) => field.type === 'integer',
      );
      for (const [name, { minimum = 0, maximum = 0 }] of integers) {
        for (const value of [maximum, minimum]) {
          const answer = await send(operation, { ...furnished.example(operation), [name]: value });
          assert.equal(answer.body[name], value, answer.text);
        }
      }
    });

    test('a path parameter that the body contradicts', async () => {
      const params = furnished.params(operation.path);
      const own = schemaOf(operation).properties ?? {};
      for (const name of Object.keys(params).filter((each) => !(each in own))) {
        const expected = { status: 400, field: `/${name}`, says: `${name} must be the same as in the path` };
        for (const value of shareOfCases([newId('edghts'), '', 7, {}], subject, 4))
          await refuse(operation, { ...furnished.example(operation), [name]: value }, expected);
      }
    });
  });
}

suite('every write operation', () => {
  test('is tested with an accepted body, otherwise nothing above would prove anything', async () => {
    for (const operation of bodyOperations) {
      await furnished.prepare(operation);
      const answer = await send(operation, furnished.example(operation));
      assert.equal(answer.status, operation.success.status, `${nameOf(operation)}: ${answer.text}`);
      if (operation.method !== 'POST' || answer.body?.uri === undefined) continue;
      const deleted = await world.api('DELETE', answer.body.uri);
      assert.equal(deleted.status, 204, deleted.text);
    }
  });

  test('accepts path parameters repeated in the body', async () => {
    for (const operation of bodyOperations.filter(({ method, path }) => method !== 'POST' && path.includes('{'))) {
      const answer = await send(operation, { ...furnished.example(operation), ...furnished.params(operation.path) });
      assert.equal(answer.status, operation.success.status, `${nameOf(operation)}: ${answer.text}`);
    }
  });

  test('returns 404 for unknown, foreign and malformed ids', async () => {
    for (const [subject, operation] of writeOperations.entries()) {
      const params = furnished.params(operation.path);
      for (const name of Object.keys(params)) {
        const ids = name === 'type' ? ['no_such_type.v0', 'a/b', '\u0000'] : badIds(operation, name);
        for (const id of shareOfCases(ids, subject, 6)) {
          const path = furnished.path(operation, { [name]: id });
          const body = operation.body === undefined ? undefined : furnished.example(operation);
          await assertRefused(world, () => world.api(operation.method, path, body), {
            status: 404,
          });
        }
      }
    }
  });

  test('rejects unknown query parameters', async () => {
    for (const operation of operations) {
      const path = `${furnished.path(operation)}?limt=1`;
      const body = operation.body === undefined ? undefined : furnished.example(operation);
      const answer = await assertRefused(world, () => world.api(operation.method, path, body), {
        status: 400,
        code: 'ERR_POSTERN_INVALID_QUERY',
        says: '"limt" is not a query parameter here.',
      });
      assert.equal(answer.body.details.parameter, 'limt');
      if (operation.verb === 'list' && operation.query?.properties['limit'] !== undefined)
        assert.match(answer.body.msg, /Did you mean "limit"/);
    }
  });

  test('returns 401 without a key, with a malformed header and with an unknown key, without reading the body', async () => {
    const wrong = ['Basic dXNlcjpwYXNz', 'Bearer', 'Bearer  ', 'Token abc', UNKNOWN_KEY, 'Bearer a b'];
    for (const [index, operation] of writeOperations.entries()) {
      // Failed authentication is delayed; that is not under test here.
      clockOffsetMs += 60_000;
      const authorization = wrong[index % wrong.length] as string;
      const isKey = authorization === UNKNOWN_KEY;
      for (const options of [{ key: null }, { key: null, headers: { authorization } }]) {
        const answer = await assertRefused(world, () => send(operation, undefined, { ...options, rawBody: '{' }), {
          status: 401,
          code: 'ERR_POSTERN_UNAUTHENTICATED',
          says: isKey && 'headers' in options ? 'the API key is not known' : 'send "Authorization: Bearer <API key>"',
        });
        assert.equal(answer.headers.get('www-authenticate'), 'Bearer');
      }
    }
  });

  test('returns 403 to a key without the scope, and names the scope', async () => {
    const reader = await world.api('POST', '/api_keys', { scopes: ['secrets:read'] });
    for (const operation of writeOperations.filter(({ scopes }) => scopes?.length !== 0)) {
      // A question changes nothing, and names the scope of reading.
      const scope = operation.scopes?.[0] ?? `${operation.path.split('/')[1]}:write`;
      const answer = await assertRefused(world, () => send(operation, {}, { key: reader.body.token }), {
        status: 403,
        code: 'ERR_POSTERN_FORBIDDEN',
        says: `"${scope}"`,
      });
      assert.equal(answer.body.details.scope, scope);
    }
  });

  test('returns 412 for a stale If-Match, and 400 for one that is not an ETag', async () => {
    const conditional = writeOperations.filter(
      ({ isConditional, method }) => isConditional === true && method !== 'POST',
    );
    assert.ok(conditional.length > 30);
    for (const [subject, operation] of conditional.entries()) {
      const body = operation.body === undefined ? undefined : furnished.example(operation);
      if (operation.method === 'DELETE' && operation.resource.includes('.')) {
        const replace = bodyOperations.find(
          ({ path, method }) => path === operation.path && method === 'PUT',
        ) as BodyOperation;
        assert.equal((await send(replace, furnished.example(replace))).status, 200);
      }
      for (const tag of shareOfCases(['"1"', 'W/"99"', '"word"', '"1", "2"'], subject, 4)) {
        await assertRefused(world, () => send(operation, body, { headers: { 'if-match': tag } }), {
          status: 412,
          code: 'ERR_POSTERN_PRECONDITION_FAILED',
          says: 'read it again',
        });
      }
      for (const tag of shareOfCases(['7', '"7', 'word', '"a" "b"'], subject, 4)) {
        await assertRefused(world, () => send(operation, body, { headers: { 'if-match': tag } }), {
          status: 400,
          code: 'ERR_POSTERN_INVALID_HEADER',
          says: 'If-Match',
        });
      }
    }
  });

  test('actions accept any body', async () => {
    const actions = writeOperations.filter(({ body }) => body?.parsing === 'ignored');
    assert.ok(actions.length >= 7);
    for (const operation of actions) {
      for (const [type, rawBody] of [
        ['text/plain', furnished.params(operation.path)['id'] as string],
        ['application/json', '{"id":'],
        ['nonsense', 'x'],
        ['application/json', ''],
      ] as const) {
        const answer = await send(operation, undefined, { rawBody, headers: { 'content-type': type } });
        // Nothing in this world delivers events.
        if (operation.verb === 'test') assertApiError(answer, { status: 503, code: 'ERR_POSTERN_NO_EVENT_DELIVERY' });
        // The delivery was stored without the subscription that would have caused it.
        else if (nameOf(operation) === 'event_deliveries.replay')
          assertApiError(answer, { status: 409, code: 'ERR_POSTERN_DELIVERY_CLOSED' });
        else assert.equal(answer.status, operation.success.status, `${nameOf(operation)} ${type}: ${answer.text}`);
      }
    }
  });
});

function schemaOf(operation: BodyOperation): FieldSchema {
  return fieldSchema(operation.body.schema);
}

function badIds(operation: Operation, name: string): readonly string[] {
  if (name === 'revision') return ['999999999', '0', '-1', '1.0', '1e1', 'word', ' ', '\u0000', 'a/b', '9'.repeat(300)];
  const prefix = name === 'id' ? prefixAt(operation.path) : name === 'edge_id' ? 'edghts' : 'esb';
  const foreign = prefix === 'ca' ? furnished.id('ipp') : furnished.id('ca');
  const own = furnished.params(operation.path)[name] as string;
  return [
    newId(prefix),
    foreign,
    own.toLowerCase(),
    own.slice(0, -1),
    `${own}x`,
    own.replace('_', '-'),
    'word',
    '0',
    ' ',
    '\u0000',
    'ä',
    'a/b',
    '..%2f',
    'x'.repeat(300),
  ];
}

interface FieldIn {
  readonly path: readonly string[];
  readonly schema: FieldSchema;
  /** The whole body, with this value for the field. */
  readonly inside: (value: JsonValue) => Body;
}

function* fieldsIn(schema: FieldSchema, body: Body, at: readonly string[] = []): Generator<FieldIn> {
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    const path = [...at, name];
    yield { path, schema: field, inside: (value) => ({ ...body, [name]: value }) };
    if (field.properties === undefined) continue;
    const inner = (body[name] ?? leastValue(field)) as Body;
    for (const deeper of fieldsIn(field, inner, path))
      yield { ...deeper, inside: (value) => ({ ...body, [name]: deeper.inside(value) }) };
  }
}
