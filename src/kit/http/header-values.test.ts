import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accepts } from './header-values.ts';

const CASES = [
  { header: 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.8', isAccepted: true },
  { header: 'application/json, TEXT/HTML ; q=0.1', isAccepted: true },
  { header: '*/*', isAccepted: false },
  { header: 'text/*', isAccepted: false },
  { header: 'text/html;q=0', isAccepted: false },
  { header: 'text/html; q=0.000', isAccepted: false },
  { header: 'text/htmlx', isAccepted: false },
  { header: '', isAccepted: false },
  { header: undefined, isAccepted: false },
];

for (const { header, isAccepted } of CASES) {
  test(`${isAccepted ? 'accepts' : 'does not accept'} text/html with ${header ?? 'no header'}`, () => {
    assert.equal(accepts(header, 'text/html'), isAccepted);
  });
}
