import assert from 'node:assert/strict';
import { test } from 'node:test';
import { problemText } from './problem-text.ts';

test('the line of a host whose addresses all failed names each failure', () => {
  const refused = ['::1', '127.0.0.1'].map((address) => new Error(`connect ECONNREFUSED ${address}:5432`));
  assert.equal(
    problemText(new AggregateError(refused), [], {}),
    'postern: connect ECONNREFUSED ::1:5432; connect ECONNREFUSED 127.0.0.1:5432',
  );
});
