import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import type { TObject, TSchema } from 'typebox';
import { isJsonObject, type JsonValue } from '../../src/kit/json.ts';
import { isObjectSchema } from '../../src/kit/schema/schema-facts.ts';
import { TestWorld } from '../support/test-world.ts';
import { assertUnmoved } from './api-error.ts';
import { bodyOperations, FURNISHED_ENV, FurnishedWorld, nameOf } from './furnished-world.ts';

const world = await TestWorld.open({ after }, { env: FURNISHED_ENV });
const furnished = await FurnishedWorld.furnish(world);
const VERSION_HEADERS = ['service-version', 'ngrok-version'];

suite('null in a PATCH is "unchanged", under every version header', () => {
  for (const operation of bodyOperations.filter(({ method }) => method === 'PATCH')) {
    for (const header of VERSION_HEADERS) {
      test(`${nameOf(operation)} with every field null and ${header}`, async () => {
        const path = furnished.path(operation);
        const before = await world.api('GET', path);
        const body = Object.fromEntries(Object.keys((operation.body.schema as TObject).properties).map(toNull));
        const options = { version: null, headers: { [header]: '2' } };
        const answer = await assertUnmoved(world, () => world.api('PATCH', path, body, options));
        assert.equal(answer.status, 200, answer.text);
        assert.deepEqual((await world.api('GET', path)).body, before.body);
      });
    }
  }

  test('keeps every module of an edge and a route; DELETE removes one', async () => {
    const edge = `/edges/https/${furnished.id('edghts')}`;
    const route = `${edge}/routes/${furnished.id('edghtsrt')}`;
    const authority = furnished.id('ca');
    await world.api('PUT', `${edge}/mutual_tls`, { certificate_authority_ids: [authority] });
    await world.api('PUT', `${route}/backend`, { backend_id: furnished.id('bkdsc') });
    await world.api('PUT', `${route}/compression`, { enabled: false });
    const changed = { description: 'changed', backend: null, compression: null, oidc: null, match: null };
    const answer = await world.api('PATCH', route, changed);
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.body.backend.backend.id, furnished.id('bkdsc'));
    assert.deepEqual([answer.body.compression.enabled, answer.body.description], [false, 'changed']);
    const kept = await world.api('PATCH', edge, { mutual_tls: null, tls_termination: null, hostports: null });
    assert.equal(kept.body.mutual_tls.certificate_authorities[0].id, authority);
    assert.equal((await world.api('DELETE', `${route}/compression`)).status, 204);
    assert.equal((await world.api('GET', route)).body.compression, null);
  });
});

suite('null in place of an omitted field is accepted at every depth', () => {
  for (const operation of bodyOperations) {
    const example = operation.body.example;
    const padded = withNulls(operation.body.schema, example) as object;
    test(`${nameOf(operation)} decodes it as it decodes the example`, async () => {
      assert.deepEqual(
        problemsOf(await tried(operation, padded)),
        problemsOf(await tried(operation, example)),
        JSON.stringify(padded),
      );
    });
  }

  test('a rule of the access module keeps only the fields that have a value', async () => {
    const route = `/edges/https/${furnished.id('edghts')}/routes/${furnished.id('edghtsrt')}`;
    const rule = { emails: ['a@example.com'], email_domains: null, claims: null, service_accounts: null, guests: null };
    const inline = await world.api('PATCH', route, { access: { enabled: null, allow: [rule], deny: null } });
    assert.equal(inline.status, 200, inline.text);
    assert.deepEqual(inline.body.access.allow, [{ emails: ['a@example.com'] }]);
    const empty = await world.api('PUT', `${route}/access`, { allow: [{ ...rule, emails: null }] });
    assert.deepEqual([empty.status, empty.body.details.field], [400, '/allow/0'], empty.text);
  });

  test('a value of a map cannot be null', async () => {
    const answer = await world.api('POST', '/backends/tunnel_group', { labels: { app: null } });
    assert.equal(answer.status, 400, answer.text);
  });
});

/** A reference that does not exist fails after decoding: only problems with fields are compared. */
function problemsOf({
  status,
  body,
}: {
  status: number;
  body: { details?: { field?: string }; msg?: string };
}): object {
  return status === 400 ? { field: body.details?.field, msg: body.msg } : {};
}

async function tried(operation: (typeof bodyOperations)[number], body: object) {
  const { method, path } = operation;
  const used = path.replaceAll(/\{[^}]+\}/g, (name) => furnished.params(path)[name.slice(1, -1)] as string);
  return world.api(method, used, body, { headers: { 'if-match': '"0"' } });
}

function toNull(name: string): [string, null] {
  return [name, null];
}

/** The value with null for every declared field that it omits. */
function withNulls(schema: TSchema, value: JsonValue): JsonValue {
  const { items } = schema as { items?: TSchema };
  if (Array.isArray(value) && items !== undefined) return value.map((item: JsonValue) => withNulls(items, item));
  if (!isObjectSchema(schema) || !isJsonObject(value)) return value;
  const declared = Object.entries(schema.properties).map(([name, field]) => {
    const inner = value[name];
    return [name, inner === undefined ? null : withNulls(field, inner)];
  });
  return { ...value, ...Object.fromEntries(declared) };
}
