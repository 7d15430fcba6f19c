import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rangeText } from './range-text.ts';

test('shows a single address as people write it', () => {
  assert.deepEqual(['192.0.2.7/32', '2001:db8::1/128', '192.0.2.0/24', '2001:db8::/32'].map(rangeText), [
    '192.0.2.7',
    '2001:db8::1',
    '192.0.2.0/24',
    '2001:db8::/32',
  ]);
});
