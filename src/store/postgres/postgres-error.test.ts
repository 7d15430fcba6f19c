import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PosternError } from '../../kit/errors.ts';
import { fromPostgresError, isLostConnection } from './postgres-error.ts';

for (const code of ['EPIPE', 'ECONNRESET', 'ECONNREFUSED', 'ENOTCONN', '57P01', '08006', undefined]) {
  test(`a database that goes away with ${code ?? 'no code'} is unavailable, and not an error of ours`, () => {
    const error = fromPostgresError(Object.assign(new Error('write failed'), code === undefined ? {} : { code }));
    assert.ok(error instanceof PosternError);
    assert.equal(error.code, 'ERR_POSTERN_STORE_UNAVAILABLE');
  });
}

test('EPIPE is a lost connection', () => {
  assert.ok(isLostConnection(fromPostgresError(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }))));
});

test('an error of a statement stays what it is', () => {
  const error = Object.assign(new Error('duplicate key'), { code: '23505' });
  assert.equal(fromPostgresError(error), error);
});
