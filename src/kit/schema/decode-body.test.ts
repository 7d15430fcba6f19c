import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import Type from 'typebox';
import type { JsonObject } from '../json.ts';
import { createDecoder, patchDecoder } from './decode-body.ts';

const stored = Type.Object({
  name: Type.String({ default: '', maxLength: 10 }),
  inner: Type.Object({ name: Type.String({ default: '', maxLength: 10 }) }, { default: {} }),
  list: Type.Array(Type.String(), { default: [], maxItems: 1000 }),
});
const decoders = [createDecoder(stored), patchDecoder(stored, [])];

function problemsOf(body: unknown): readonly (readonly string[])[] {
  return decoders.map((decoder) => {
    const decoded = decoder.decode(body as JsonObject);
    return decoded.ok ? [] : decoded.problems.map(({ path }) => path);
  });
}

suite('a body with too much in it', () => {
  test('is rejected for its unknown fields, wherever its known ones are', () => {
    const unknown = Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`unknown_${at}`, 1]));
    for (const paths of problemsOf({ ...unknown, name: 'a' })) assert.equal(paths[0], '/unknown_0');
    for (const paths of problemsOf({ inner: unknown })) assert.equal(paths[0], '/inner/unknown_0');
  });

  test('is rejected for an overlong list, and for its one invalid item', () => {
    for (const paths of problemsOf({ list: Array(100_000).fill('a') })) assert.deepEqual(paths, ['/list']);
    for (const paths of problemsOf({ list: [...Array(999).fill('a'), 1] })) assert.deepEqual(paths, ['/list/999']);
  });

  test('is rejected for a name of any length', () => {
    for (const [path] of problemsOf({ ['~/'.repeat(100_000)]: 1 }))
      assert.ok(path !== undefined && path.length < 20_000);
  });
});

test('a value that is none of the allowed ones is rejected with all of them', () => {
  const decoder = createDecoder(Type.Object({ method: Type.Enum(['POST', 'PUT'], { description: 'Method.' }) }));
  const decoded = decoder.decode({ method: 'GET' });
  assert.ok(!decoded.ok);
  assert.equal(decoded.problems[0]?.message, 'must be one of "POST", "PUT". Method.');
});

suite('objects in a list', () => {
  const rules = Type.Array(
    Type.Object({ to: Type.String(), code: Type.Integer({ default: 302 }) }, { additionalProperties: false }),
  );
  const form = Type.Object({ rules });

  test('get the defaults of fields that were omitted or null', () => {
    for (const decoder of [createDecoder(form), patchDecoder(form, [])]) {
      const sent = { rules: [{ to: 'a' }, { to: 'b', code: null }, { to: 'c', code: 301 }] };
      const decoded = decoder.decode(sent as unknown as JsonObject);
      assert.ok(decoded.ok);
      const codes = (decoded.value['rules'] as { code: number }[]).map(({ code }) => code);
      assert.deepEqual(codes, [302, 302, 301]);
    }
  });

  test('are rejected for unknown fields and for missing ones without a default', () => {
    const decoder = createDecoder(form);
    for (const rule of [{ to: 'a', other: 1 }, { code: 301 }, { to: 'a', code: 'x' }])
      assert.equal(decoder.decode({ rules: [rule] }).ok, false, JSON.stringify(rule));
  });
});

suite('names that every object inherits', () => {
  for (const name of ['toString', 'constructor', '__proto__']) {
    test(`are ordinary fields: ${name}`, () => {
      // As JSON.parse creates them.
      const own = JSON.parse(`{"${name}":{"name":"longer than ten"}}`) as JsonObject;
      for (const paths of problemsOf(own)) assert.equal(paths[0], `/${name}`);
      for (const paths of problemsOf({ inner: own })) assert.equal(paths[0], `/inner/${name}`);
    });
  }
});
