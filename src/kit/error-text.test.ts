import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { messageOf } from './error-text.ts';

suite('the text of an error', () => {
  test('names what happened at each address of a host', () => {
    const refused = ['::1', '127.0.0.1'].map((address) => new Error(`connect ECONNREFUSED ${address}:5432`));
    const text = messageOf(new AggregateError(refused));
    assert.equal(text, 'connect ECONNREFUSED ::1:5432; connect ECONNREFUSED 127.0.0.1:5432');
  });

  test('is that of the error, or the value that was thrown', () => {
    assert.equal(messageOf(new Error('broken')), 'broken');
    assert.equal(messageOf(new AggregateError([], 'none')), 'none');
    assert.equal(messageOf('text'), 'text');
  });
});
