import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import Type from 'typebox';
import { withDefaults } from './with-defaults.ts';

const schema = Type.Object({
  enabled: Type.Boolean({ default: true }),
  address: Type.String(),
  tls: Type.Object({ verify: Type.Boolean({ default: true }), name: Type.String({ default: '' }) }, { default: {} }),
  rules: Type.Array(Type.Object({ path: Type.String(), weight: Type.Integer({ default: 1 }) }), { default: [] }),
  note: Type.Unsafe<string | undefined>(Type.String({ default: undefined })),
});

suite('a configuration that was stored without some fields', () => {
  test('gets their defaults, also within objects and the items of lists, and keeps unknown names', () => {
    const stored = { address: 'a:1', later: 7, tls: { name: 'x' }, rules: [{ path: '/' }, { path: '/a', weight: 2 }] };
    assert.deepEqual(withDefaults(schema, stored), {
      ...{ enabled: true, address: 'a:1', later: 7, tls: { verify: true, name: 'x' } },
      rules: [
        { path: '/', weight: 1 },
        { path: '/a', weight: 2 },
      ],
    });
    assert.deepEqual(stored.tls, { name: 'x' });
  });

  test('does not share the objects of defaults', () => {
    const [one, other] = [withDefaults(schema, { address: 'a:1' }), withDefaults(schema, { address: 'a:1' })];
    assert.deepEqual(one, other);
    assert.notEqual(one['rules'], other['rules']);
    assert.deepEqual(one['tls'], { verify: true, name: '' });
  });

  test('is itself if it lacks nothing', () => {
    const stored = withDefaults(schema, { address: 'a:1', rules: [{ path: '/' }] });
    assert.equal(withDefaults(schema, stored), stored);
  });

  test('stays as it is where the API did not write it', () => {
    const stored = { enabled: 'yes', address: null, tls: 7, rules: 'none' };
    assert.equal(withDefaults(schema, stored), stored);
  });
});
