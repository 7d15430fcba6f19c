import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StoredRecord } from '../store/store.ts';
import { configDigest, configOf } from './record-config.ts';

test('a configuration holds its secrets at their places, and leaves the record alone', () => {
  const record = recordWith(
    { client_id: 'app', nested: { kept: 1 } },
    { '/client_secret': '"hush"', '/nested/key': '"deep"' },
  );
  assert.deepEqual(configOf(record), { client_id: 'app', client_secret: 'hush', nested: { kept: 1, key: 'deep' } });
  assert.deepEqual(record.doc, { client_id: 'app', nested: { kept: 1 } });
  assert.equal(configOf(record), configOf(record));
});

test('a record without secrets is its own configuration', () => {
  const record = recordWith({ client_id: 'app' }, null);
  assert.equal(configOf(record), record.doc);
});

test('digests are equal for equal configurations, whatever the order of their fields, and tell secrets apart', () => {
  const one = configDigest(recordWith({ a: 1, b: 2 }, { '/s': '"x"' }));
  assert.equal(configDigest(recordWith({ b: 2, a: 1 }, { '/s': '"x"' })), one);
  assert.notEqual(configDigest(recordWith({ a: 1, b: 2 }, { '/s': '"y"' })), one);
  assert.notEqual(configDigest(recordWith({ a: 1, b: 2 }, null)), one);
});

function recordWith(doc: StoredRecord['doc'], secrets: StoredRecord['secrets']): StoredRecord {
  return { kind: 'kind', id: 'id', parent: null, revision: 1, doc, secrets };
}
